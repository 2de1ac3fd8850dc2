"""Closed forms of attention with tied keys and values."""

from mla_engine.toy.config import TiedConfig

from kvcount.parts import Layer, Part
from mla_engine.closed_forms import Costs, Formula, Heads, Shapes, Sizes


def weights(config: TiedConfig, heads: Heads) -> dict[str, int]:
    """Elements of every parameter: three matrices of one size."""
    return dict.fromkeys(("W_Q", "W_KV", "W_O"), len(heads) * config.d_head * config.d_model)


def kept(config: TiedConfig, _cache: str, heads: Heads) -> Layer:
    """One vector a head: h k."""
    one = Part(name="key", numbers=len(heads) * config.d_head, heads=len(heads))
    return Layer("mha", (one,))


def products(config: TiedConfig, _form: str, _cache: str, heads: Heads, sizes: Sizes) -> Shapes:
    """By the trace field that each makes, their sizes."""
    t, s, new = sizes.queries, sizes.keys, sizes.new
    h, k, d = len(heads), config.d_head, config.d_model
    return {
        "q": (t, h, k, d),
        "kv": (new, h, k, d),
        "scores": (h, t, s, k),
        "o": (h, t, s, k),
        "u": (t, d, h, k),
    }


def _own_cache(config: TiedConfig) -> int:
    return config.n_heads * config.d_head


COSTS = Costs(
    weights=weights,
    kept=kept,
    written=lambda config: f"{config.n_heads} × {config.d_head}",
    products=products,
    formulas=(
        Formula(
            "right",
            "n_h d_h",
            "n<sub>h</sub>d<sub>h</sub>",
            "by definition",
            _own_cache,
            _own_cache,
        ),
        Formula(
            "apart",
            "2 n_h d_h",
            "2n<sub>h</sub>d<sub>h</sub>",
            "as of MHA",
            lambda config: 2 * _own_cache(config),
            _own_cache,
        ),
    ),
)
