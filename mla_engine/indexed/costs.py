"""Closed forms of MLA with a lightning indexer.

Counted is what a kernel needs that reads only the chosen keys, min(index_topk, s) for each query;
each of several queries is taken to choose keys of its own. The indexer reads the index keys of all.
"""

from dataclasses import replace
from functools import partial

from kvcount import layers
from kvcount.parts import Layer
from mla_engine.closed_forms import Costs, Formula, Heads, Shapes, Sizes
from mla_engine.indexed.config import IndexedConfig
from mla_engine.latent import costs as latent

MOST = 2**20  # keys that a choice can have: all


def weights(config: IndexedConfig, heads: Heads) -> dict[str, int]:
    """Count the elements of every parameter; what the configuration has not is absent."""
    if config.index_shared:
        return latent.weights(config, heads)
    d, j, x = config.d_model, config.n_index_heads, config.d_index
    of_index = {"W_IQ": j * x * (config.d_latent_q or d), "W_IK": x * d, "W_IW": j * d}
    return latent.weights(config, heads) | of_index | {"k_I_norm": x, "b_IK": x}


def index_elements(config: IndexedConfig) -> int:
    """Return x, one index key for all index heads; none where the choice is shared."""
    return 0 if config.index_shared else config.d_index


def kept(config: IndexedConfig, _cache: str, _heads: Heads) -> Layer:
    """Return c + r, of which few are read, and the index keys that choose them, x."""
    rows = layers.latent(config.d_latent_kv, config.d_rope, read_rows=config.index_topk)
    if config.index_shared:
        return Layer("shared_choice", rows)
    return Layer("indexed", (*rows, *layers.index(config.d_index)))


def written(config: IndexedConfig) -> str:
    """Return the cache as arithmetic."""
    index = index_elements(config)
    return latent.written(config) + (f" + {index:,}" if index else "")


def products(config: IndexedConfig, form: str, _cache: str, heads: Heads, sizes: Sizes) -> Shapes:
    """Return the products by the field that each makes: MLA's over its choice, the indexer's."""
    shapes = products_over_choice(config, form, heads, sizes, config.index_topk)
    return shapes | ({} if config.index_shared else _indexer(config, sizes))


def products_over_choice(
    config: IndexedConfig, form: str, heads: Heads, sizes: Sizes, attended: int
) -> Shapes:
    """Return the products of MLA whose queries attend to at most so many keys each."""
    of_choice = replace(sizes, keys=min(sizes.keys, attended))
    shapes = latent.products(config, form, "latent", heads, of_choice)
    expanded = expanded_keys(sizes, attended)
    return shapes | {n: (expanded, *shapes[n][1:]) for n in ("k_C", "v_C") if n in shapes}


def expanded_keys(sizes: Sizes, attended: int) -> int:
    """Return the number of keys that some query attends to."""
    return min(sizes.keys, sizes.queries * attended)


def _indexer(config: IndexedConfig, sizes: Sizes) -> Shapes:
    t, s, new, d = sizes.queries, sizes.keys, sizes.new, config.d_model
    j, x = config.n_index_heads, config.d_index
    return {
        "q_I_pre": (t, j, x, config.d_latent_q or d),
        "w_I": (t, j, d),
        "k_I_pre": (new, x, d),
        "scores_I": (j, t, s, x),
        "index": (t, s, j),
    }


def up_projected(config: IndexedConfig, form: str, _cache: str, heads: Heads, sizes: Sizes) -> int:
    """Count the expanded keys and values of every head, of the tokens attended to."""
    of_choice = replace(sizes, keys=expanded_keys(sizes, config.index_topk))
    return latent.up_projected(config, form, "latent", heads, of_choice)


def layouts(config: IndexedConfig) -> dict[str, dict[str, float]]:
    """Return the layouts of MLA, each with the index key added; plain MHA has none."""
    return latent.layouts(config, index=index_elements(config))


def _own_cache(config: IndexedConfig) -> int:
    return latent.latent_elements(config) + index_elements(config)


_formula = partial(Formula, right=_own_cache)
FORMULAS = (
    _formula(
        "right",
        "d_c + d_R + d_I",
        "d<sub>c</sub>+d<sub>R</sub>+d<sub>I</sub>",
        "deepseek-ai/DeepSeek-V3.2-Exp inference/model.py",
        _own_cache,
    ),
    _formula(
        "no_index",
        "d_c + d_R",
        "d<sub>c</sub>+d<sub>R</sub>",
        "sgl-project/sglang #11309",
        latent.latent_elements,
    ),
    *(replace(formula, right=_own_cache) for formula in latent.FORMULAS[1:]),
)
COSTS = Costs(
    weights=weights,
    kept=kept,
    written=written,
    products=products,
    up_projected=up_projected,
    layouts=layouts,
    steady=lambda config: (config.index_topk, 1),
    with_every_key=lambda config: replace(config, index_topk=MOST),
    of_latents=(*latent.COSTS.of_latents, "W_IK", "k_I_norm", "b_IK"),
    formulas=FORMULAS,
    mistakes=("index_every_layer",),
)
