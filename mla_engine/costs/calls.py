"""FLOPs and bytes of prefill and decode, in every form.

FLOPs are 2 x the multiply-adds of the matrix products over the full t x s, without the half that a
causal kernel may leave out and without elementwise work (norm, rotation, scale, softmax). Bytes
are the least that a call must move, see `Cost`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError
from mla_engine import mechanisms
from mla_engine.closed_forms import Shapes, Sizes, width
from mla_engine.config import AttentionConfig
from mla_engine.costs.sizes import chosen_heads, kept, kind_of_cache
from mla_engine.mechanism import Form


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The work and the bytes of one call.

    `step_flops` goes by the trace field that a product makes, in order of computation; of these
    fields the products of `growing` grow with queries x keys. Of bytes are counted: every weight
    used, once (`weight_bytes`); what the cache held before, read once, of a sparse mechanism what
    it reads of that; new entries, written once; the h that is read and the u that is written
    (`activation_bytes`); keys and values that are up-projected only for this call, written and
    read once (`up_projected_bytes`). Queries, scores and heads' outputs are taken to stay on the
    chip.
    """

    step_flops: Mapping[str, int]
    growing: tuple[str, ...]
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
        """Only the products whose work grows with queries x keys."""
        return sum(self.step_flops.get(name, 0) for name in self.growing)

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
    config: AttentionConfig,
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
    checks.kind("queries", queries, slice | None, Phrase("a_slice"))
    rows = tokens if queries is None else len(range(tokens)[queries])
    if not rows:
        raise RefusedError("no_query", queries=queries, rows=tokens)
    checks.flag("latents", latents)
    mechanism = mechanisms.of(config)
    if latents and not mechanism.costs.of_latents:
        owners = mechanisms.types_in_words(lambda one: one.costs.of_latents)
        raise RefusedError("no_latents", owners=owners, called=mechanism.called)
    sizes = Sizes(batch=batch, queries=rows, new=0 if latents else tokens, keys=tokens)
    form = form or mechanism.forms[0].name
    return call_cost(config, form, None, heads, sizes, dtype_bytes)


def decode(
    config: AttentionConfig,
    context: int,
    form: str | None = None,
    *,
    cache: str | None = None,
    new_tokens: int = 1,
    batch: int = 1,
    dtype_bytes: float = 2,
    heads: Iterable[int] | None = None,
) -> Cost:
    """Return the cost of one step that adds `new_tokens` to a cache of `context` tokens.

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
    form = form or mechanisms.of(config).decoded_by[cache]
    keys = context + new_tokens
    sizes = Sizes(batch=batch, queries=new_tokens, new=new_tokens, keys=keys)
    return call_cost(config, form, cache, heads, sizes, dtype_bytes)


def call_cost(
    config: AttentionConfig,
    form: str,
    cache: str | None,
    heads: Iterable[int] | None,
    sizes: Sizes,
    dtype_bytes: float,
) -> Cost:
    """Return the cost of one call of these sizes, of which `prefill` and `decode` are two kinds."""
    checks.whole("batch", sizes.batch)
    checks.positive("dtype_bytes", dtype_bytes)
    cache, closed = kind_of_cache(config, cache), mechanisms.of(config).costs
    heads, computed = chosen_heads(config, heads), form_with(config, form, cache)
    shapes = in_order(computed, closed.products(config, form, cache, heads, sizes))
    weights = closed.weights(config, heads)
    if not sizes.new:
        weights = {name: size for name, size in weights.items() if name not in closed.of_latents}
    row_bytes = sizes.batch * dtype_bytes
    read, written = _moved_bytes(config, cache, heads, sizes, dtype_bytes)
    rows_in_and_out = max(sizes.new, sizes.queries) + sizes.queries
    up_projected = closed.up_projected(config, form, cache, heads, sizes)
    return Cost(
        step_flops={name: 2 * sizes.batch * math.prod(shape) for name, shape in shapes.items()},
        growing=computed.growing,
        weight_bytes=sum(weights.values()) * dtype_bytes,
        cache_read_bytes=sizes.batch * read,
        cache_written_bytes=sizes.batch * written,
        activation_bytes=row_bytes * config.d_model * rows_in_and_out,
        up_projected_bytes=2 * row_bytes * up_projected,
    )


def _moved_bytes(
    config: AttentionConfig, cache: str, heads: tuple[int, ...], sizes: Sizes, dtype_bytes: float
) -> tuple[float, float]:
    """Return what a call reads of one sequence's cache, and what it writes into it."""
    layer = kept(config, cache, heads)
    held, new = sizes.keys - sizes.new, sizes.new
    read = sum(
        part.numbers * width(part, dtype_bytes) * part.rows_read(held, sizes.queries, new)
        for part in layer.parts
        if held
    )
    written = sum(
        part.numbers * width(part, dtype_bytes) * part.rows_written(held, new)
        for part in layer.parts
        if part.stored and new
    )
    return read, written


def form_with(config: AttentionConfig, form: str, cache: str) -> Form:
    """Return the form of this name, if it computes from this kind of cache.

    Raises:
        ValueError: an unknown form, or one that needs what the cache does not hold.
    """
    checks.choice("form", form, mechanisms.form_names())
    for one in mechanisms.of(config).forms:
        if one.name == form and cache in one.decode:
            return one
    needs = next(one.needs for m in mechanisms.all() for one in m.forms if one.name == form)
    raise RefusedError("form_cache", form=form, needs=needs, cache=cache)


def in_order(form: Form, shapes: Shapes) -> Shapes:
    """Return the products that take place, in the order of the trace's fields."""
    names = (field.name for field in fields(form.trace))
    return {name: shapes[name] for name in names if math.prod(shapes.get(name, (0,)))}
