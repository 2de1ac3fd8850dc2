"""How many numbers a layer consists of and keeps, and the ratios that are quoted of them.

Letters as in the einsum strings: h heads, g KV heads, d model, k head, r rope, v value, c and l
the latents.
"""

import math
from collections.abc import Iterable

from mla_engine import checks
from mla_engine.config import GroupedConfig, LatentConfig

Config = GroupedConfig | LatentConfig
CACHES = ("latent", "kv")


def weight_elements(config: Config, heads: Iterable[int] | None = None) -> dict[str, int]:
    """Elements of every parameter of a layer with these heads (global numbers; all by default).

    Raises:
        ValueError: a config of another kind, or a head that it has not.
    """
    n_heads, n_kv_heads = heads_held(config, heads)
    d, k, v = config.d_model, config.d_head, config.d_value
    if isinstance(config, LatentConfig):
        return _latent_weights(config, n_heads)
    sizes = {"W_Q": n_heads * k * d, "W_K": n_kv_heads * k * d, "W_V": n_kv_heads * v * d}
    sizes["W_O"] = d * n_heads * v
    if config.bias:
        sizes |= {"b_Q": n_heads * k, "b_K": n_kv_heads * k, "b_V": n_kv_heads * v, "b_O": d}
    if config.qk_norm:
        sizes |= {"q_norm": k, "k_norm": k}
    return sizes


def _latent_weights(config: LatentConfig, n_heads: int) -> dict[str, int]:
    d, k, r, v = config.d_model, config.d_head, config.d_rope, config.d_value
    c, q_latent = config.d_latent_kv, config.d_latent_q or 0
    source = q_latent or d
    sizes = {
        "W_DQ": q_latent * d,
        "W_UQ": n_heads * k * source,
        "W_QR": n_heads * r * source,
        "W_DKV": c * d,
        "W_KR": r * d,
        "W_UK": n_heads * k * c,
        "W_UV": n_heads * v * c,
        "W_O": d * n_heads * v,
    }
    if config.latent_norm:
        sizes |= {"c_Q_norm": q_latent, "c_KV_norm": c}
    if config.bias:
        sizes |= {"b_DQ": q_latent, "b_DKV": c, "b_KR": r, "b_O": d}
    return {name: size for name, size in sizes.items() if size}


def parameters(config: Config, heads: Iterable[int] | None = None) -> int:
    """Parameters of a layer with these heads: weights, biases and norm weights."""
    return sum(weight_elements(config, heads).values())


def chosen_heads(config: Config, heads: Iterable[int] | None) -> tuple[int, ...]:
    """The heads by global number, all by default.

    Raises:
        ValueError: a config of another kind, no head, a repeated or an absent one.
    """
    checks.kind("config", config, Config, "a GroupedConfig or a LatentConfig")
    heads = range(config.n_heads) if heads is None else heads
    checks.kind("heads", heads, Iterable, "a list of head numbers, for example [0]")
    chosen = tuple(heads)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"heads {list(chosen)} must name at least one head, and none twice")
    for head in chosen:
        checks.whole("heads", head, least=0)
        if head >= config.n_heads:
            raise ValueError(f"heads has {head}, but heads go from 0 to {config.n_heads - 1}")
    return chosen


def heads_held(config: Config, heads: Iterable[int] | None) -> tuple[int, int]:
    """How many heads are chosen, and how many KV heads they use (of MLA: each its own)."""
    chosen = chosen_heads(config, heads)
    if isinstance(config, LatentConfig):
        return len(chosen), len(chosen)
    return len(chosen), len({head // config.group_size for head in chosen})


def kind_of_cache(config: Config, cache: str | None) -> str:
    """`cache`, or the one that the layer is meant to keep: "latent" for MLA, else "kv".

    Raises:
        ValueError: an unknown cache, or "latent" for grouped heads.
    """
    latent = isinstance(config, LatentConfig)
    if cache is None:
        return "latent" if latent else "kv"
    checks.choice("cache", cache, CACHES)
    if cache == "latent" and not latent:
        raise ValueError("cache 'latent' needs a LatentConfig: grouped heads keep 'kv'")
    return cache


def cache_elements(
    config: Config, cache: str | None = None, heads: Iterable[int] | None = None
) -> int:
    """Numbers kept per token and layer.

    Args:
        config: the layer.
        cache: "latent" (c_KV and k_R: c + r, whatever the heads) or "kv" (keys and values in full:
            g (k + v), of MLA h (k + r + v)); by default the one that the layer is meant to keep.
        heads: global numbers of the heads that are kept; all by default.

    Raises:
        ValueError: a cache or a head that the layer cannot have.
    """
    n_kv_heads = heads_held(config, heads)[1]
    if kind_of_cache(config, cache) == "latent":
        return config.d_latent_kv + config.d_rope
    d_key = config.d_head + (config.d_rope if isinstance(config, LatentConfig) else 0)
    return n_kv_heads * (d_key + config.d_value)


def cache_bytes_per_token(config: Config, dtype_bytes: float, cache: str | None = None) -> float:
    """Bytes kept per token and layer; `dtype_bytes` is 4 for float32, 0.5 for 4-bit numbers.

    Raises:
        ValueError: a width of 0 or less, or a cache that the layer cannot have.
    """
    checks.positive("dtype_bytes", dtype_bytes)
    return cache_elements(config, cache) * dtype_bytes


def mha_cache_elements(config: Config) -> int:
    """Numbers per token and layer that plain MHA of the same heads keeps: n_h (d_h + d_v).

    Keys are d_head wide, without a rotary part, and values d_value: 2 n_h d_h where both are equal.
    """
    return config.n_heads * (config.d_head + config.d_value)


def equivalent_kv_heads(config: Config) -> float:
    """KV heads, as wide as these, that fill as large a cache; of MLA (c + r) / (d_h + d_v)."""
    return cache_elements(config) / (config.d_head + config.d_value)


def crossover_queries(config: LatentConfig, context: int | None = None) -> float:
    """Queries below which the absorbed form computes less than expanding the whole context.

    With s keys: s c (k + v) / (c (k + v) + s (2 c - k - v)); over an endless context (None)
    c (k + v) / (2 c - k - v). Infinite where the absorbed form never computes more.

    Raises:
        ValueError: a config of another kind or a context below 1.
    """
    checks.kind("config", config, LatentConfig, "a LatentConfig")
    widths = config.d_head + config.d_value
    expansion, extra = config.d_latent_kv * widths, 2 * config.d_latent_kv - widths
    if context is not None:
        checks.whole("context", context)
        extra += expansion / context
    return expansion / extra if extra > 0 else math.inf
