"""From a config.json that nobody vouches for to a preset: one attention, and how many there are."""

from collections.abc import Collection, Mapping
from typing import Any

from mla_engine import mechanisms
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.families import attention_config, family_of, n_attentions
from mla_engine.config import AttentionConfig
from mla_engine.given_preset import MOST_CONTEXT, GivenPreset, given_preset
from mla_engine.model_caches.read import read

CONTEXT = "max_position_embeddings"


def preset_of_config(
    config: Mapping[str, Any], name: str, shown: Collection[str] = ()
) -> GivenPreset:
    """The first attention of a model that is of one of these mechanisms, as a preset.

    Where some have a sliding window, the first without, as published presets have it.

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
    growing = [one for one in found if _grows(one)]
    context = inner.get(CONTEXT)
    return given_preset(
        found[layer],
        name=name or family.model_type,
        layer=layer,
        n_layers=number // family.row["sublayers"],
        n_caches=len(growing),
        max_context=context if _is_context(context) else None,
        not_modelled=tuple(_gaps(found, growing)),
    )


def _shown(found: list[AttentionConfig], shown: Collection[str]) -> int | None:
    """The first attention of these mechanisms, one over all tokens before one with a window."""
    fit = [n for n, one in enumerate(found) if not shown or mechanisms.of(one).key in shown]
    return next((n for n in fit if not _window(found[n])), fit[0] if fit else None)


def _window(config: AttentionConfig) -> int | None:
    return vars(config).get("sliding_window")


def _grows(config: AttentionConfig) -> bool:
    """Whether it keeps something of each token, and not one state of all."""
    return "d_decay" not in vars(config)


def _is_context(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_CONTEXT


def _gaps(found: list[AttentionConfig], growing: list[AttentionConfig]) -> list[str]:
    """What the model has beside the layer that stands for it, as presets name it."""
    windows = {_window(one) for one in growing}
    gaps = ["alternating local and global layers"] * (len(windows) > 1)
    return gaps + ["linear attention layers"] * (len(growing) < len(found))
