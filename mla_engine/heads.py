"""Some heads of a layer, as a layer of their own with the same weights."""

from collections.abc import Iterable

import torch

from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.symbols import SYMBOLS

__all__ = ["with_heads"]


def with_heads(
    layer: AttentionLayer,
    heads: Iterable[int] | None,
    config: AttentionConfig | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> AttentionLayer:
    """Return a layer of only these heads, whose weights are those of a whole one.

    Args:
        layer: with all of its heads.
        heads: global numbers; None keeps all.
        config: of the new layer, where it rotates otherwise or has no latent norms.
        dtype: of the new layer; as `config` and `device`, the whole one's by default.
        device: of the new layer.

    Raises:
        ValueError: an unknown head, a configuration that the weights are not of.
    """
    config, dtype = config or layer.config, dtype or layer.dtype
    plan = type(layer)(config, heads=heads, device="meta")
    places = {"h": plan.heads, "g": plan.kv_heads, "y": plan.output_groups}
    weights = {}
    for name, _ in plan.named_parameters():
        weight = layer.get_parameter(name)
        for axis, letter in enumerate(SYMBOLS[name].axes.split()):
            if letter in places:
                chosen = torch.tensor(places[letter], device=weight.device)
                weight = weight.index_select(axis, chosen)
        weights[name] = weight
    return type(layer).of_weights(config, weights, plan.heads, dtype, device or layer.device)
