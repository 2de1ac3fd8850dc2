"""Closed forms of MLA: weights, caches, matrix products of both forms."""

import math
from functools import partial

from kvcount import checks, layers
from kvcount.parts import Layer
from mla_engine.closed_forms import Costs, Formula, Heads, Shapes, Sizes
from mla_engine.latent.config import LatentConfig


def weights(config: LatentConfig, heads: Heads) -> dict[str, int]:
    """Count the elements of every parameter; what the configuration has not is absent."""
    d, k, r, v = config.d_model, config.d_head, config.d_rope, config.d_value
    h, c, q_latent = len(heads), config.d_latent_kv, config.d_latent_q or 0
    source = q_latent or d
    sizes = {
        "W_DQ": q_latent * d,
        "W_UQ": h * k * source,
        "W_QR": h * r * source,
        "W_DKV": c * d,
        "W_KR": r * d,
        "W_UK": h * k * c,
        "W_UV": h * v * c,
        "W_O": d * h * v,
        "W_OG": h * v * d * (config.output_gate == "channel"),
        "w_OG": h * d * (config.output_gate == "head"),
    }
    if config.latent_norm:
        sizes |= {"c_Q_norm": q_latent, "c_KV_norm": c}
    if config.bias:
        sizes |= {"b_DQ": q_latent, "b_DKV": c, "b_KR": r, "b_O": d}
    return {name: size for name, size in sizes.items() if size}


def kept(config: LatentConfig, cache: str, heads: Heads) -> Layer:
    """Return c + r, whatever the heads; in full the keys and values of each, h (k + r + v)."""
    if cache == "latent":
        return Layer("latent", layers.latent(config.d_latent_kv, config.d_rope))
    return Layer("mha", layers.pair(len(heads), config.d_head + config.d_rope, config.d_value))


def written(config: LatentConfig) -> str:
    """Return the latent cache as arithmetic."""
    return f"{config.d_latent_kv:,}" + (f" + {config.d_rope:,}" if config.d_rope else "")


def up_projected(config: LatentConfig, form: str, cache: str, heads: Heads, sizes: Sizes) -> int:
    """Count the keys and values of every head and token, in the expanded form of a latent cache."""
    again = form == "expanded" and cache == "latent"
    return sizes.keys * len(heads) * (config.d_head + config.d_value) if again else 0


def products(config: LatentConfig, form: str, cache: str, heads: Heads, sizes: Sizes) -> Shapes:
    """Return the sizes of the products, by the trace field that each makes."""
    shared = _shared(config, len(heads), sizes)
    if form == "absorbed":
        return shared | _absorbed(config, len(heads), sizes)
    up_projected = sizes.keys if cache == "latent" else sizes.new
    return shared | _expanded(config, len(heads), sizes, up_projected)


def _shared(config: LatentConfig, h: int, sizes: Sizes) -> Shapes:
    """Count what both forms have in common: queries and latents."""
    t, new, d = sizes.queries, sizes.new, config.d_model
    source = config.d_latent_q or d
    return {
        "c_Q_pre": (t, config.d_latent_q or 0, d),
        "q_C": (t, h, config.d_head, source),
        "q_R_pre": (t, h, config.d_rope, source),
        "c_KV_pre": (new, config.d_latent_kv, d),
        "k_R_pre": (new, config.d_rope, d),
        "gate": (t, h, {"channel": config.d_value, "head": 1}.get(config.output_gate, 0), d),
    }


def _expanded(config: LatentConfig, h: int, sizes: Sizes, up_projected: int) -> Shapes:
    t, s, c, v = sizes.queries, sizes.keys, config.d_latent_kv, config.d_value
    return {
        "k_C": (up_projected, h, config.d_head, c),
        "v_C": (up_projected, h, v, c),
        "scores_C": (h, t, s, config.d_head),
        "scores_R": (h, t, s, config.d_rope),
        "o": (h, t, s, v),
        "u": (t, config.d_model, h, v),
    }


def _absorbed(config: LatentConfig, h: int, sizes: Sizes) -> Shapes:
    t, s, c, v = sizes.queries, sizes.keys, config.d_latent_kv, config.d_value
    return {
        "q_C_absorbed": (t, h, config.d_head, c),
        "scores_C": (h, t, s, c),
        "scores_R": (h, t, s, config.d_rope),
        "o_latent": (h, t, s, c),
        "o": (t, h, v, c),
        "u": (t, config.d_model, h, v),
    }


def layouts(config: LatentConfig, index: float = 0) -> dict[str, dict[str, float]]:
    """Count the numbers per token and layer of every way to lay out the cache, by part.

    "mha" is plain MHA of the same heads, for comparison; "full" keeps keys and values of
    every head; "copy" keeps the latent a second time, transposed, for the product with the weights.
    Beside each but the first stand the `index` numbers of an indexer.
    """
    heads, latent, rope = config.n_heads, config.d_latent_kv, config.d_rope
    keys, values = heads * config.d_head, heads * config.d_value
    return {
        "mha": {"key": keys, "rope": 0, "latent": 0, "value": values, "index": 0},
        "full": {"key": keys, "rope": heads * rope, "latent": 0, "value": values, "index": index},
        "copy": {"key": 0, "rope": rope, "latent": latent, "value": latent, "index": index},
        "latent": {"key": 0, "rope": rope, "latent": latent, "value": 0, "index": index},
    }


def crossover_queries(config: LatentConfig, context: int | None = None) -> float:
    """Return below how many queries the absorbed form computes less than expanding the context.

    With s keys: s c (k + v) / (c (k + v) + s (2 c - k - v)); over an endless context (None)
    c (k + v) / (2 c - k - v). Infinite where the absorbed form never computes more.

    Raises:
        ValueError: a config of another kind or a context below 1.
    """
    checks.kind("config", config, LatentConfig)
    widths = config.d_head + config.d_value
    expansion, extra = config.d_latent_kv * widths, 2 * config.d_latent_kv - widths
    if context is not None:
        checks.whole("context", context)
        extra += expansion / context
    return expansion / extra if extra > 0 else math.inf


def latent_elements(config: LatentConfig) -> int:
    """Count the numbers of a token's row: c_KV and k_R."""
    return config.d_latent_kv + config.d_rope


_formula = partial(Formula, right=latent_elements)
FORMULAS = (
    _formula(
        "right", "d_c + d_R", "d<sub>c</sub>+d<sub>R</sub>", "DeepSeek-V2, table 1", latent_elements
    ),
    _formula(
        "latent_only",
        "d_c",
        "d<sub>c</sub>",
        "rasbt/LLMs-from-scratch ch04/05_mla",
        lambda c: c.d_latent_kv,
    ),
    _formula(
        "latent_twice",
        "2 d_c",
        "2d<sub>c</sub>",
        "LMCache/LMCache #694",
        lambda c: 2 * c.d_latent_kv,
    ),
    _formula(
        "rope_each_head",
        "d_c + n_h d_R",
        "d<sub>c</sub>+n<sub>h</sub>d<sub>R</sub>",
        "deepseek-ai/DeepSeek-R1 #238",
        lambda c: c.d_latent_kv + c.n_heads * c.d_rope,
    ),
    _formula(
        "one_head",
        "2 d / n_h",
        "2d/n<sub>h</sub>",
        "unslothai/unsloth #4757",
        lambda c: 2 * c.d_model / c.n_heads,
    ),
    _formula(
        "every_head",
        "2 n_h (d / n_h)",
        "2d",
        "NVIDIA/TensorRT-LLM #16707",
        lambda c: 2 * c.d_model,
    ),
)
COSTS = Costs(
    weights=weights,
    kept=kept,
    written=written,
    products=products,
    up_projected=up_projected,
    of_latents=("W_DKV", "W_KR", "b_DKV", "b_KR", "c_KV_norm"),
    formulas=FORMULAS,
    layouts=layouts,
)
