"""Make a preset of a config.json that nobody vouches for: one attention, and their number."""

from collections.abc import Collection, Mapping
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.reading.read import read
from mla_engine import costs, mechanisms
from mla_engine.checkpoints.families import Attentions, family_of
from mla_engine.config import AttentionConfig
from mla_engine.given_preset import MOST_CONTEXT, GivenPreset, given_preset

CONTEXT = "max_position_embeddings"


def preset_of_config(
    config: Mapping[str, Any], name: str, shown: Collection[str] = ()
) -> GivenPreset:
    """Return a model as a preset: the attention that keeps most of a token, and the others.

    Of those that keep as much, the first without a sliding window, as published presets have it.

    Args:
        config: the parsed config.json.
        name: what the model is to be called; empty for its model_type.
        shown: keys of mechanisms; none are all.

    Raises:
        RefusedError: an architecture of which the engine has no layer, with what else can be said
            of it; a missing or wrong key, by its name; no attention of these mechanisms.
    """
    try:
        family, inner = family_of(config)
    except CheckpointError:
        counted = read(config)  # refuses the unknown with its keys and what it resembles
        raise CheckpointError("counted_alone", model_type=counted.model_type) from None
    attentions = Attentions(config)
    found = [attentions.config(number) for number in range(len(attentions))]
    if (layer := _shown(found, shown)) is None:
        called = mechanisms.of(found[0]).called
        raise CheckpointError("no_page_of_config", called=called, model_type=family.model_type)
    context = inner.get(CONTEXT)
    is_context = type(context) is int and 0 < context <= MOST_CONTEXT
    (_, n_caches), *beside = kinds(found, layer)
    return given_preset(
        found[layer],
        name=name or family.model_type,
        layer=layer,
        n_layers=len(found) // family.row["sublayers"],
        n_caches=n_caches,
        beside=tuple(beside),
        max_context=context if is_context else None,
    )


def kinds(found: list[AttentionConfig], first: int = 0) -> list[tuple[AttentionConfig, int]]:
    """Return the kinds of attention by what they keep, that of number `first` before others.

    Returns:
        Of each kind its first configuration, and how many there are of it.
    """
    of_kind: dict[object, list[AttentionConfig]] = {_cache_of(found[first]): [found[first]]}
    for config in (*found[:first], *found[first + 1 :]):
        of_kind.setdefault(_cache_of(config), []).append(config)
    return [(same[0], len(same)) for same in of_kind.values()]


def _cache_of(config: AttentionConfig) -> tuple[object, ...]:
    """Return what tells one kind's cache from another's: its mechanism, and what it keeps."""
    return mechanisms.of(config).key, costs.kept(config)


def _shown(found: list[AttentionConfig], shown: Collection[str]) -> int | None:
    """Return the attention of these mechanisms that keeps most, over all tokens if it can."""
    fit = [n for n, one in enumerate(found) if not shown or mechanisms.of(one).key in shown]
    keeps = {n: (costs.cache_elements(found[n]), not found[n].sliding_window) for n in fit}
    return max(fit, key=keeps.__getitem__, default=None)
