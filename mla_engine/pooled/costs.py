"""Closed forms of attention over a window and pooled entries.

Counted is what a kernel needs that reads only the window and the chosen entries: of each query
min(window, s) tokens and min(index_topk, s / pooling) entries. The indexer reads all index keys.
"""

from dataclasses import replace

from kvcount import layers
from kvcount.parts import Layer
from mla_engine.closed_forms import (
    Amount,
    Costs,
    Formula,
    Heads,
    KeptPart,
    Shapes,
    Sizes,
    per_token,
    rows,
)
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.projections import groups_of

MOST = 2**20  # tokens in a window and entries in a choice: all


def weights(config: PooledConfig, heads: Heads) -> dict[str, int]:
    """Count the elements of every parameter; what the configuration has not is absent."""
    c, h, d = config, len(heads), config.d_model
    sizes = {
        "W_DQ": c.d_latent_q * d,
        "c_Q_norm": c.d_latent_q,
        "W_UQ": h * c.d_head * c.d_latent_q,
        "W_T": c.d_head * d,
        "kv_T_norm": c.d_head,
        "sink": h,
        "W_DO": h * c.d_latent_o * c.d_head,
        "W_UO": d * len(groups_of(c, heads)) * c.d_latent_o,
    }
    if c.pooling:
        made, bias = c.n_series * c.d_head * d, c.n_slots * c.d_head
        sizes |= {"W_E": made, "W_Z": made, "b_Z": bias, "kv_E_norm": c.d_head}
    if c.chooses:
        j, x = c.n_index_heads, c.d_index
        made, bias = c.n_series * x * d, c.n_slots * x
        sizes |= {"W_IE": made, "W_IZ": made, "b_IZ": bias, "k_E_norm": x}
        sizes |= {"W_IQ": j * x * c.d_latent_q, "W_IW": j * d}
    return sizes


def kept(config: PooledConfig, _cache: str, _heads: Heads) -> Layer:
    """Return the window, the entries with their index keys, and what waits to be pooled."""
    c = config
    if c.chooses:
        sizes = (c.d_head, c.d_rope, c.d_index, c.window, c.pooling, c.index_topk)
        return layers.csa(*sizes, overlaps=c.overlap)
    if c.pooling:
        return layers.hca(c.d_head, c.d_rope, c.window, c.pooling, overlaps=c.overlap)
    return Layer("window", layers.window(c.d_head, c.d_rope, c.window))


def written(config: PooledConfig) -> str:
    """Return the formula of the part of the cache that grows."""
    if not config.pooling:
        return "0"
    index = f" + {config.d_index:,}" if config.chooses else ""
    numbers = f"({config.d_head:,}{index})" if index else f"{config.d_head:,}"
    return f"{numbers} / {config.pooling:,}"


def entries(config: PooledConfig, tokens: int) -> int:
    """Return the number of entries of so many tokens."""
    return tokens // config.pooling if config.pooling else 0


def products(config: PooledConfig, _form: str, _cache: str, heads: Heads, sizes: Sizes) -> Shapes:
    """Return the sizes of the products, by the trace field that each makes."""
    c, t, d, h = config, sizes.queries, config.d_model, len(heads)
    window, every = min(sizes.keys, c.window), entries(c, sizes.keys)
    chosen = min(every, c.index_topk or every)
    groups = len(groups_of(c, heads))
    made = (sizes.new, c.n_series, c.d_head, d) if c.pooling else (0,)
    return {
        "c_Q_pre": (t, c.d_latent_q, d),
        "q_pre": (t, h, c.d_head, c.d_latent_q),
        "kv_T_pre": (sizes.new, c.d_head, d),
        "c_E": made,
        "z_E": made,
        **(_indexer(c, sizes, every) if c.chooses else {}),
        "scores_T": (h, t, window, c.d_head),
        "scores_E": (h, t, chosen, c.d_head),
        "o_turned": (h, t, window + chosen, c.d_head),
        "c_O": (t, h, c.d_latent_o, c.d_head),
        "u": (t, d, groups, c.d_latent_o),
    }


def _indexer(config: PooledConfig, sizes: Sizes, every: int) -> Shapes:
    t, new, d = sizes.queries, sizes.new, config.d_model
    j, x = config.n_index_heads, config.d_index
    made = (new, config.n_series, x, d)
    return {
        "q_I_pre": (t, j, x, config.d_latent_q),
        "w_I": (t, j, d),
        "c_IE": made,
        "z_IE": made,
        "scores_IE": (j, t, every, x),
        "index_E": (t, every, j),
    }


def parts(config: PooledConfig, tokens: int, dtype_bytes: float) -> tuple[KeptPart, ...]:
    """Return the window, the entries, and the tokens of which something waits to be pooled."""
    first = max(0, tokens - config.window)
    spans = {"window": ((first, tokens),) if tokens > first else ()}
    if config.pooling:
        block, full = config.pooling, entries(config, tokens)
        of_entry = config.pooling * (config.n_series - 1)  # with overlap, of the block before too
        starts = range(0, full * block, block)
        spans["entries"] = tuple((max(0, at - of_entry), at + block) for at in starts)
        waits = full * block - (of_entry if full else 0)
        spans["waiting"] = ((waits, tokens),) if tokens > waits else ()
    sizes = {kind: row.n_bytes for kind, row in kept_rows(config, tokens, dtype_bytes).items()}
    if config.pooling:
        sizes["entries"] += sizes.get("index", 0)
    return tuple(KeptPart(code, at, sizes[code]) for code, at in spans.items())


def kept_rows(config: PooledConfig, tokens: int, dtype_bytes: float) -> dict[str, Amount]:
    """Return the window, entries, the index keys of these, and what waits, for the indexer too."""
    return rows(kept(config, "pooled", ()), tokens, dtype_bytes)


def steady(config: PooledConfig) -> tuple[int, int]:
    """Return the length from which every block of tokens adds the same, and the block."""
    chosen = config.pooling * (config.index_topk or 0)
    return max(config.window, chosen, 1), max(config.pooling, 1)


def with_every_key(config: PooledConfig) -> PooledConfig:
    """Return the configuration with every token and entry attended to."""
    return replace(config, window=MOST, index_topk=config.index_topk and MOST)


def _own_cache(config: PooledConfig) -> float:
    return per_token(kept(config, "pooled", ()))


FORMULAS = (
    Formula(
        "right",
        r"(d_h + d_I) / m",
        "(d<sub>h</sub>+d<sub>I</sub>)/m",
        "DeepSeek-V4, section 2.3",
        numbers=_own_cache,
        right=_own_cache,
    ),
)
COSTS = Costs(
    weights=weights,
    kept=kept,
    written=written,
    products=products,
    parts=parts,
    steady=steady,
    with_every_key=with_every_key,
    formulas=FORMULAS,
    mistakes=("pooled_as_gqa", "pooled_each_head"),
)
