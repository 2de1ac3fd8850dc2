"""FLOPs and bytes of prefill and decode, in every form.

FLOPs are 2 x the multiply-adds of the matrix products over the full t x s, without the half that a
causal kernel may leave out and without elementwise work (norm, rotation, scale, softmax). Bytes
are the least that a call must move, see `Cost`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mla_engine import checks
from mla_engine.config import GroupedConfig
from mla_engine.costs.products import Sizes, products
from mla_engine.costs.sizes import (
    Config,
    cache_elements,
    chosen_heads,
    kind_of_cache,
    weight_elements,
)

OF_THE_LATENTS = ("W_DKV", "W_KR", "b_DKV", "b_KR", "c_KV_norm")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one call computes and moves.

    `step_flops` goes by the trace field that a product makes, in order of computation. Of bytes
    are counted: every weight used, once (`weight_bytes`); what the cache held before, read once;
    new entries, written once; the h that is read and the u that is written (`activation_bytes`);
    keys and values that are up-projected for this call alone, written and read once
    (`up_projected_bytes`). Queries, scores and heads' outputs are taken to stay on the chip.
    """

    step_flops: Mapping[str, int]
    weight_bytes: float
    cache_read_bytes: float
    cache_written_bytes: float
    activation_bytes: float
    up_projected_bytes: float

    @property
    def total_flops(self) -> int:
        """2 x the multiply-adds of all matrix products."""
        return sum(self.step_flops.values())

    @property
    def attention_flops(self) -> int:
        """The products alone whose work grows with queries x keys."""
        mixed = "o_latent" if "o_latent" in self.step_flops else "o"
        grow = ("scores", "scores_C", "scores_R", mixed)
        return sum(self.step_flops.get(name, 0) for name in grow)

    @property
    def total_bytes(self) -> float:
        """All bytes that are counted."""
        cache = self.cache_read_bytes + self.cache_written_bytes
        return self.weight_bytes + cache + self.activation_bytes + self.up_projected_bytes

    @property
    def flops_per_byte(self) -> float:
        """Arithmetic intensity of the whole call."""
        return self.total_flops / self.total_bytes


def prefill(
    config: Config,
    tokens: int,
    form: str | None = None,
    *,
    batch: int = 1,
    dtype_bytes: float = 2,
    heads: Iterable[int] | None = None,
    queries: slice | None = None,
    latents: bool = False,
) -> Cost:
    """Cost of attention over `tokens` tokens that fills the cache the layer is meant to keep.

    Args:
        config: the layer.
        tokens: length of the sequence.
        form: "expanded" (default) or, of MLA, "absorbed".
        batch: sequences at once.
        dtype_bytes: width of weights, cache and activations.
        heads: global numbers of the heads to compute.
        queries: rows to compute as queries; keys stay complete.
        latents: c_KV and k_R are handed in; then the cache is read, not written.

    Raises:
        ValueError: an argument that does not fit, named with its value.
    """
    checks.whole("tokens", tokens)
    checks.kind("queries", queries, slice | None, "a slice, for example slice(0, 8)")
    rows = tokens if queries is None else len(range(tokens)[queries])
    if not rows:
        raise ValueError(f"queries ({queries}) chooses none of {tokens} rows: try slice(0, 1)")
    checks.flag("latents", latents)
    if latents and isinstance(config, GroupedConfig):
        raise ValueError("latents (True) needs a LatentConfig: grouped heads have none")
    sizes = Sizes(batch=batch, queries=rows, new=0 if latents else tokens, keys=tokens)
    return _cost(config, form or "expanded", None, heads, sizes, dtype_bytes)


def decode(
    config: Config,
    context: int,
    form: str | None = None,
    *,
    cache: str | None = None,
    new_tokens: int = 1,
    batch: int = 1,
    dtype_bytes: float = 2,
    heads: Iterable[int] | None = None,
) -> Cost:
    """Cost of one step that adds `new_tokens` to a cache of `context` tokens.

    Args:
        config: the layer.
        context: tokens that the cache holds before the step.
        form: "absorbed" (default with a latent cache) or "expanded", which with a latent cache
            up-projects every cached token in each step.
        cache: "latent" (default of MLA) or "kv" (keys and values in full).
        new_tokens: tokens that the step adds, all of them queries.
        batch: sequences at once.
        dtype_bytes: width of weights, cache and activations.
        heads: global numbers of the heads to compute.

    Raises:
        ValueError: an argument that does not fit, or "absorbed" with a "kv" cache.
    """
    checks.whole("context", context, least=0)
    checks.whole("new_tokens", new_tokens)
    cache = kind_of_cache(config, cache)
    form = form or ("absorbed" if cache == "latent" else "expanded")
    keys = context + new_tokens
    sizes = Sizes(batch=batch, queries=new_tokens, new=new_tokens, keys=keys)
    return _cost(config, form, cache, heads, sizes, dtype_bytes)


def _cost(
    config: Config,
    form: str,
    cache: str | None,
    heads: Iterable[int] | None,
    sizes: Sizes,
    dtype_bytes: float,
) -> Cost:
    checks.whole("batch", sizes.batch)
    checks.positive("dtype_bytes", dtype_bytes)
    cache = kind_of_cache(config, cache)
    heads = chosen_heads(config, heads)
    shapes = products(config, form, cache, heads, sizes)
    weights = weight_elements(config, heads)
    if not sizes.new:
        weights = {name: size for name, size in weights.items() if name not in OF_THE_LATENTS}
    row_bytes = sizes.batch * dtype_bytes
    entry_bytes = row_bytes * cache_elements(config, cache, heads)
    rows_in_and_out = max(sizes.new, sizes.queries) + sizes.queries
    up_projected = 0
    if form == "expanded" and cache == "latent":
        up_projected = sizes.keys * len(heads) * (config.d_head + config.d_value)
    return Cost(
        step_flops={name: 2 * sizes.batch * math.prod(shape) for name, shape in shapes.items()},
        weight_bytes=sum(weights.values()) * dtype_bytes,
        cache_read_bytes=entry_bytes * (sizes.keys - sizes.new),
        cache_written_bytes=entry_bytes * sizes.new,
        activation_bytes=row_bytes * config.d_model * rows_in_and_out,
        up_projected_bytes=2 * row_bytes * up_projected,
    )
