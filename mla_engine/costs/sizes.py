"""The numbers that a layer consists of and keeps, and the ratios that are quoted of them.

Each mechanism has its own closed forms; here they are asked for.
"""

from collections.abc import Iterable
from functools import lru_cache

from kvcount import checks
from kvcount.parts import Layer, Model
from kvcount.refusals import Phrase, RefusedError
from mla_engine import closed_forms, mechanisms
from mla_engine.closed_forms import Amount, KeptPart
from mla_engine.config import AttentionConfig

CACHES = mechanisms.cache_kinds()
Kinds = tuple[tuple[AttentionConfig, int], ...]


def weight_elements(config: AttentionConfig, heads: Iterable[int] | None = None) -> dict[str, int]:
    """Elements of every parameter of a layer with these heads (global numbers; all by default).

    Raises:
        ValueError: a config of another kind, or a head that it has not.
    """
    return mechanisms.of(config).costs.weights(config, chosen_heads(config, heads))


def parameters(config: AttentionConfig, heads: Iterable[int] | None = None) -> int:
    """Return the parameters of a layer with these heads: weights, biases and norm weights."""
    return sum(weight_elements(config, heads).values())


def chosen_heads(config: AttentionConfig, heads: Iterable[int] | None) -> tuple[int, ...]:
    """Return the heads by global number, all by default.

    Raises:
        ValueError: a config of another kind, no head, a repeated or an absent one.
    """
    mechanisms.of(config)
    if heads is None:
        return tuple(range(config.n_heads))
    checks.kind("heads", heads, Iterable, Phrase("head_numbers"))
    chosen = tuple(heads)
    if not chosen or len(set(chosen)) < len(chosen):
        raise RefusedError("heads_once", heads=list(chosen))
    for head in (chosen[0], chosen[-1]) if isinstance(heads, range) else chosen:
        checks.whole("heads", head, least=0)
        if head >= config.n_heads:
            raise RefusedError("no_head", head=head, last=config.n_heads - 1)
    return chosen


def kind_of_cache(config: AttentionConfig, cache: str | None) -> str:
    """Return `cache`, or the one that the layer is meant to keep, such as "latent" for MLA.

    Raises:
        ValueError: an unknown cache, or one of another mechanism, as "latent" of grouped heads.
    """
    mechanism = mechanisms.of(config)
    if cache is None:
        return mechanism.caches[0].kind
    checks.choice("cache", cache, CACHES)
    if cache not in mechanism.decoded_by:
        owners = mechanisms.types_in_words(lambda one: one.caches[0].kind == cache)
        kept = ", ".join(map(repr, mechanism.decoded_by))
        raise RefusedError(
            "cache_kind", cache=cache, owners=owners, called=mechanism.called, kept=kept
        )
    return cache


def kept(
    config: AttentionConfig, cache: str | None = None, heads: Iterable[int] | None = None
) -> Layer:
    """Return the parts of a layer's cache, of which all else follows that is counted of it.

    Args:
        config: the layer.
        cache: "latent" or "kv" as in `cache_elements`.
        heads: global numbers of the heads that are kept; all by default.

    Raises:
        ValueError: a cache or a head that the layer cannot have.
    """
    kind, chosen = kind_of_cache(config, cache), chosen_heads(config, heads)
    return mechanisms.of(config).costs.kept(config, kind, chosen)


@lru_cache(maxsize=256)
def model(kinds: Kinds, cache: str | None = None) -> Model:
    """Return the cache of a model by its kinds of attention, each with how many there are of it.

    Args:
        kinds: the first has the heads that GPUs split.
        cache: of the first kind, "latent" or "kv" as in `cache_elements`.
    """
    (first, _), *_ = kinds
    each = [(kept(one, cache if one is first else None), one, n) for one, n in kinds]
    return Model(
        model_type=None,
        layers=sum(((layer,) * n for layer, _, n in each), ()),
        max_context=None,
        as_mha=mha_cache_elements(first),
        n_heads=first.n_heads,
        attention=sum(((parameters(one),) * n for _, one, n in each), ()),
    )


def cache_elements(
    config: AttentionConfig, cache: str | None = None, heads: Iterable[int] | None = None
) -> int:
    """Return the numbers kept per token and layer; with a window, of each token in it.

    Args:
        config: the layer.
        cache: "latent" (c_KV and k_R: c + r, whatever the heads) or "kv" (keys and values in full:
            g (k + v), of MLA h (k + r + v)); by default the one that the layer is meant to keep.
        heads: global numbers of the heads that are kept; all by default.

    Raises:
        ValueError: a cache or a head that the layer cannot have.
    """
    return closed_forms.per_token(kept(config, cache, heads))


def cache_bytes_per_token(
    config: AttentionConfig, dtype_bytes: float, cache: str | None = None
) -> float:
    """Count bytes kept per token and layer; `dtype_bytes` is 4 for float32, 0.5 for 4-bit numbers.

    Raises:
        ValueError: a width of 0 or less, or a cache that the layer cannot have.
    """
    checks.positive("dtype_bytes", dtype_bytes)
    return cache_elements(config, cache) * dtype_bytes


def fixed_bytes(
    config: AttentionConfig,
    dtype_bytes: float,
    cache: str | None = None,
    heads: Iterable[int] | None = None,
) -> float:
    """Count bytes that a layer keeps of one sequence whatever its length; 0 where all of it grows.

    Raises:
        ValueError: a width of 0 or less, a cache or a head that the layer cannot have.
    """
    checks.positive("dtype_bytes", dtype_bytes)
    return closed_forms.fixed(kept(config, cache, heads), dtype_bytes)


def held_bytes(
    config: AttentionConfig,
    tokens: int,
    dtype_bytes: float,
    cache: str | None = None,
    heads: Iterable[int] | None = None,
) -> float:
    """Count bytes that a layer keeps of one sequence of so many tokens, also what does not grow.

    Raises:
        ValueError: a number of tokens below 0, a width of 0 or less, a cache or a head that the
            layer cannot have.
    """
    checks.whole("tokens", tokens, least=0, most=2**50)
    checks.positive("dtype_bytes", dtype_bytes)
    return closed_forms.held(kept(config, cache, heads), tokens, dtype_bytes)


def kept_parts(config: AttentionConfig, tokens: int, dtype_bytes: float) -> tuple[KeptPart, ...]:
    """Return a layer's cache of so many tokens, part by part; () where each token adds its own.

    Raises:
        ValueError: a number of tokens below 0, or a width of 0 or less.
    """
    checks.whole("tokens", tokens, least=0, most=2**50)
    checks.positive("dtype_bytes", dtype_bytes)
    parts = mechanisms.of(config).costs.parts
    return parts(config, tokens, dtype_bytes) if parts else ()


def kept_rows(config: AttentionConfig, tokens: int, dtype_bytes: float) -> dict[str, Amount]:
    """Return a layer's own cache of so many tokens, by kinds of rows.

    Raises:
        ValueError: a number of tokens below 0, or a width of 0 or less.
    """
    checks.whole("tokens", tokens, least=0, most=2**50)
    checks.positive("dtype_bytes", dtype_bytes)
    return closed_forms.rows(kept(config), tokens, dtype_bytes)


def mha_cache_elements(config: AttentionConfig) -> int:
    """Count numbers per token and layer that plain MHA of the same heads keeps: n_h (d_h + d_v).

    Keys are d_head wide, without a rotary part, and values d_value: 2 n_h d_h where both are equal.
    """
    return config.n_heads * (config.d_head + config.d_value)


def equivalent_kv_heads(config: AttentionConfig) -> float:
    """KV heads, as wide as these, that fill as large a cache; of MLA (c + r) / (d_h + d_v)."""
    return cache_elements(config) / (config.d_head + config.d_value)
