"""From a config.json that nobody vouches for to a preset: one attention, and how many there are."""

from collections.abc import Collection, Mapping
from typing import Any

from mla_engine import costs, mechanisms
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.families import attention_config, family_of, n_attentions
from mla_engine.config import AttentionConfig
from mla_engine.given_preset import MOST_CONTEXT, GivenPreset, given_preset
from mla_engine.model_caches.read import read

CONTEXT = "max_position_embeddings"


def preset_of_config(
    config: Mapping[str, Any], name: str, shown: Collection[str] = ()
) -> GivenPreset:
    """A model as a preset: the attention that keeps most of a token, and the others beside it.

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
    number = n_attentions(config)
    found = [attention_config(config, n) for n in range(number)]
    if (layer := _shown(found, shown)) is None:
        called = mechanisms.of(found[0]).called
        raise CheckpointError("no_page_of_config", called=called, model_type=family.model_type)
    context = inner.get(CONTEXT)
    (_, n_caches), *beside = kinds(found, layer)
    return given_preset(
        found[layer],
        name=name or family.model_type,
        layer=layer,
        n_layers=number // family.row["sublayers"],
        n_caches=n_caches,
        beside=tuple(beside),
        max_context=context if _is_context(context) else None,
        not_modelled=tuple(_gaps(found)),
    )


def kinds(found: list[AttentionConfig], first: int = 0) -> list[tuple[AttentionConfig, int]]:
    """The kinds of attention by what they keep, that of number `first` before the others.

    Returns:
        Of each kind its first configuration, and how many there are of it.
    """
    of_kind: dict[object, list[AttentionConfig]] = {_kept(found[first]): [found[first]]}
    for config in (*found[:first], *found[first + 1 :]):
        of_kind.setdefault(_kept(config), []).append(config)
    return [(same[0], len(same)) for same in of_kind.values()]


def _kept(config: AttentionConfig) -> tuple[object, ...]:
    """What tells the cache of one kind from that of another; a window is not counted as one."""
    of_token, fixed = costs.cache_elements(config), costs.fixed_bytes(config, 1)
    return mechanisms.of(config).key, of_token, fixed


def _shown(found: list[AttentionConfig], shown: Collection[str]) -> int | None:
    """Of these mechanisms the attention that keeps most of a token, over all tokens if it can."""
    fit = [n for n, one in enumerate(found) if not shown or mechanisms.of(one).key in shown]
    keeps = {n: (costs.cache_elements(found[n]), not _window(found[n])) for n in fit}
    return max(fit, key=keeps.__getitem__, default=None)


def _window(config: AttentionConfig) -> int | None:
    return vars(config).get("sliding_window")


def _is_context(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_CONTEXT


def _gaps(found: list[AttentionConfig]) -> list[str]:
    """What the model has that its kinds of attention do not tell, as presets name it."""
    windows = {_window(one) for one in found if "sliding_window" in vars(one)}
    return ["alternating local and global layers"] * (len(windows) > 1)
