"""Closed forms of MHA, GQA and MQA: weights, cache, matrix products.

Of a window, counted is what a kernel needs that reads only its keys: min(window, s) a query.
"""

from dataclasses import replace
from functools import partial

from kvcount import layers
from kvcount.parts import Layer
from mla_engine.closed_forms import Costs, Formula, Heads, Shapes, Sizes
from mla_engine.grouped.config import GroupedConfig
from mla_engine.grouped.projections import kv_heads_of


def weights(config: GroupedConfig, heads: Heads) -> dict[str, int]:
    """Count the elements of every parameter."""
    h, g = len(heads), len(kv_heads_of(config, heads))
    d, k, v = config.d_model, config.d_head, config.d_value
    sizes = {"W_Q": h * k * d, "W_K": g * k * d, "W_V": g * v * d, "W_O": d * h * v}
    if config.bias:
        sizes |= {"b_Q": h * k, "b_K": g * k, "b_V": g * v, "b_O": d}
    if config.qk_norm:
        sizes |= {"q_norm": k, "k_norm": k}
    if config.sinks:
        sizes["sink"] = h
    return sizes


def kept(config: GroupedConfig, _cache: str, heads: Heads) -> Layer:
    """Return the keys and values of the KV heads, of a window where there is one: g (k + v)."""
    n_kv_heads, length = len(kv_heads_of(config, heads)), config.sliding_window
    window = {"growth": "window", "length": length} if length else {}
    kind = layers.heads_kind(config.n_heads, config.n_kv_heads)
    parts = layers.pair(n_kv_heads, config.d_head, config.d_value, **window)
    return Layer("window" if length else kind, parts)


def written(config: GroupedConfig) -> str:
    """Return the numbers of its cache per token, as arithmetic."""
    g, k, v = config.n_kv_heads, config.d_head, config.d_value
    return f"2 × {g:,} × {k:,}" if k == v else f"{g:,} × ({k:,} + {v:,})"


def products(config: GroupedConfig, _form: str, _cache: str, heads: Heads, sizes: Sizes) -> Shapes:
    """Return the sizes of the products, by the trace field that each makes."""
    t, new, d = sizes.queries, sizes.new, config.d_model
    s = min(sizes.keys, config.sliding_window or sizes.keys)
    h, g, k, v = len(heads), len(kv_heads_of(config, heads)), config.d_head, config.d_value
    return {
        "q_pre": (t, h, k, d),
        "k_pre": (new, g, k, d),
        "v": (new, g, v, d),
        "scores": (h, t, s, k),
        "o": (h, t, s, v),
        "u": (t, d, h, v),
    }


def _own_cache(config: GroupedConfig) -> int:
    return config.n_kv_heads * (config.d_head + config.d_value)


_formula = partial(Formula, right=_own_cache)
FORMULAS = (
    _formula("right", "2 g d_h", "2g d<sub>h</sub>", "Ainslie et al. 2023, GQA", _own_cache),
    _formula(
        "width_over_heads",
        "2 g (d / n_h)",
        "2g d/n<sub>h</sub>",
        "LMCache/LMCache #688",
        lambda c: 2 * c.n_kv_heads * c.d_model / c.n_heads,
    ),
    _formula(
        "all_query_heads",
        "2 n_h d_h",
        "2n<sub>h</sub>d<sub>h</sub>",
        "hahnyuan/LLM-Viewer #12",
        lambda c: 2 * c.n_heads * c.d_head,
    ),
    _formula("model_width", "2 d", "2d", "vllm-project/vllm #29736", lambda c: 2 * c.d_model),
)
COSTS = Costs(
    weights=weights,
    kv_heads=kv_heads_of,
    kept=kept,
    written=written,
    products=products,
    steady=lambda config: (config.sliding_window or 1, 1),
    with_every_key=lambda config: replace(config, sliding_window=None),
    formulas=FORMULAS,
)
