"""Closed forms of Kimi Delta Attention: what it computes grows with the tokens, never their square.

Of the chunked form every product of a chunk is counted whole, without the half that a causal kernel
may leave out; the triangular matrix of 64 tokens is solved for, and its inverse not counted.
"""

from kvcount import layers
from kvcount.parts import Layer
from kvcount.refusals import RefusedError
from mla_engine.closed_forms import Costs, Formula, Heads, KeptPart, Shapes, Sizes, rows
from mla_engine.delta.config import DeltaConfig
from mla_engine.delta.forms import CHUNK


def weights(config: DeltaConfig, heads: Heads) -> dict[str, int]:
    """Count the elements of every parameter; what the configuration has not is absent."""
    h, d, k, v, w = len(heads), config.d_model, config.d_head, config.d_value, config.conv_width
    f, e = config.d_decay, config.d_gate
    sizes = {
        "W_Q": h * k * d,
        "W_K": h * k * d,
        "W_V": h * v * d,
        "conv_Q": h * k * w,
        "conv_K": h * k * w,
        "conv_V": h * v * w,
        "W_DA": (f or 0) * d,
        "W_UA": h * k * (f or d),
        "A_log": h,
        "b_A": h * k,
        "W_B": h * d,
        "W_DG": (e or 0) * d,
        "W_UG": h * v * (e or d),
        "o_norm": v,
        "W_O": d * h * v,
    }
    return {name: size for name, size in sizes.items() if size}


def kept(config: DeltaConfig, _cache: str, heads: Heads) -> Layer:
    """Return the states, and w - 1 tokens' queries, keys and values."""
    return layers.kda(len(heads), config.d_head, config.d_value, config.conv_width)


def parts(config: DeltaConfig, tokens: int, dtype_bytes: float) -> tuple[KeptPart, ...]:
    """Return the states, of all tokens, and what the convolutions need of the last ones."""
    layer = kept(config, "", tuple(range(config.n_heads)))
    state, tails = (row.n_bytes for row in rows(layer, tokens, dtype_bytes).values())
    first = max(0, tokens - config.conv_width + 1)
    return (
        KeptPart("state", ((0, tokens),) if tokens else (), state),
        KeptPart("tails", ((first, tokens),) if tokens > first else (), tails),
    )


def written(config: DeltaConfig) -> str:
    """Return the state as arithmetic; of each token nothing is kept."""
    return f"0; {config.n_heads:,} x {config.d_head:,} x {config.d_value:,}"


def pairs(tokens: int) -> int:
    """Count the pairs of tokens of one chunk."""
    whole, rest = divmod(tokens, CHUNK)
    return whole * CHUNK**2 + rest**2


def products(config: DeltaConfig, form: str, _cache: str, heads: Heads, sizes: Sizes) -> Shapes:
    """Return the sizes of the products, by the trace field that each makes."""
    if sizes.queries != sizes.new:
        raise RefusedError("every_query", queries=sizes.queries, new=sizes.new)
    h, t, d, w = len(heads), sizes.new, config.d_model, config.conv_width
    k, v, f, e = config.d_head, config.d_value, config.d_decay, config.d_gate
    through = {"S": (t, h, k, v)}
    if form == "recurrent":
        through |= {"erased": (t, h, k, v), "o": (t, h, k, v)}
    else:
        through |= {
            "k_WY": (pairs(t), h, 2 * k),  # which tokens meet, and what of their keys remains
            "v_WY": (pairs(t), h, v),
            "written": (t, h, k, v),
            "o_past": (t, h, k, v),
            "o_near": (pairs(t), h, k + v),
        }
    return through | {
        "q_D_pre": (t, h, k, d),
        "q_D_conv": (t, h, k, w),
        "k_D_pre": (t, h, k, d),
        "k_D_conv": (t, h, k, w),
        "v_D_pre": (t, h, v, d),
        "v_D": (t, h, v, w),
        "c_A": (t, f or 0, d),
        "a_pre": (t, h, k, f or d),
        "b": (t, h, d),
        "c_G": (t, e or 0, d),
        "gate": (t, h, v, e or d),
        "u": (t, d, h, v),
    }


FORMULAS = (
    Formula(
        "right",
        "n_h d_h d_v",
        "n<sub>h</sub>d<sub>h</sub>d<sub>v</sub>",
        "Kimi Linear, arXiv 2510.26692, section 3",
        lambda _config: 0,
        lambda _config: 0,
    ),
)
COSTS = Costs(
    weights=weights,
    kept=kept,
    written=written,
    parts=parts,
    steady=lambda _config: (CHUNK, CHUNK),
    products=products,
    formulas=FORMULAS,
    mistakes=("latent_all_layers", "delta_counted"),
)
