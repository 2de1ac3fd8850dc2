"""Closed forms of MLA with an indexer over pooled keys.

Counted is what a kernel needs that reads only the chosen blocks and the query's own, of each of
several queries as many as the last one attends to. The indexer reads the keys of all blocks.
"""

from dataclasses import replace
from functools import partial

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
from mla_engine.indexed import costs as indexed
from mla_engine.latent import costs as latent
from mla_engine.pooled_index.config import PooledIndexConfig

ALSO_WRONG = ("no_index", "one_head", "every_head")  # of the formulas for DSA


def weights(config: PooledIndexConfig, heads: Heads) -> dict[str, int]:
    """Count the elements of every parameter; what the configuration has not is absent."""
    of_dsa, x = indexed.weights(config, heads), config.d_index
    if config.index_shared:
        return of_dsa
    return of_dsa | {"W_IZ": x * config.d_model, "b_IZ": config.pooling * x}


def index_elements(config: PooledIndexConfig) -> float:
    """Return x / m, an index key for every block of tokens."""
    if config.index_shared:
        return 0
    return per_token(Layer("indexed", layers.index(config.d_index, config.pooling)))


def kept(config: PooledIndexConfig, _cache: str, _heads: Heads) -> Layer:
    """Return c + r, of which few are read, and an index key for every block of tokens."""
    rows_of_tokens = layers.latent(
        config.d_latent_kv, config.d_rope, read_rows=config.index_topk, own_block=config.pooling
    )
    if config.index_shared:
        return Layer("shared_choice", rows_of_tokens)
    return Layer("indexed", (*rows_of_tokens, *layers.index(config.d_index, config.pooling)))


def kept_rows(config: PooledIndexConfig, tokens: int, dtype_bytes: float) -> dict[str, Amount]:
    """Return latents, the index keys of full blocks, and what waits for one."""
    return rows(kept(config, "pooled_index", ()), tokens, dtype_bytes)


def written(config: PooledIndexConfig) -> str:
    """Return the formula of the part of the cache that grows."""
    index = indexed.index_elements(config)
    return latent.written(config) + (f" + {index:,} / {config.pooling:,}" if index else "")


def attended(config: PooledIndexConfig, keys: int) -> int:
    """Count the tokens that the last of so many attends to: of chosen blocks and of its own."""
    if keys < config.index_topk + config.pooling:
        return keys
    return config.index_topk + keys % config.pooling


def products(
    config: PooledIndexConfig, form: str, _cache: str, heads: Heads, sizes: Sizes
) -> Shapes:
    """Return the products by the field that each makes: MLA's over its choice, the indexer's."""
    reads = attended(config, sizes.keys)
    shapes = indexed.products_over_choice(config, form, heads, sizes, reads)
    return shapes | ({} if config.index_shared else _indexer(config, sizes))


def _indexer(config: PooledIndexConfig, sizes: Sizes) -> Shapes:
    t, new, d = sizes.queries, sizes.new, config.d_model
    j, x, blocks = config.n_index_heads, config.d_index, sizes.keys // config.pooling
    return {
        "q_I": (t, j, x, config.d_latent_q or d),
        "w_I": (t, j, d),
        "k_I_pre": (new, x, d),
        "z_IE": (new, x, d),
        "scores_IE": (j, t, blocks, x),
        "index_E": (t, blocks, j),
    }


def parts(config: PooledIndexConfig, tokens: int, dtype_bytes: float) -> tuple[KeptPart, ...]:
    """Return a latent for each token, an index key for each block, and what waits for one.

    Nothing of a layer that shares its choice: there a token just adds its latent.
    """
    if config.index_shared:
        return ()
    m = config.pooling
    full = tokens - tokens % m
    blocks = tuple((first, first + m) for first in range(0, full, m))
    spans = {
        "latents": tuple((token, token + 1) for token in range(tokens)),
        "blocks": blocks,
        "waiting": ((full, tokens),) if tokens > full else (),
    }
    there = {kind: row.n_bytes for kind, row in kept_rows(config, tokens, dtype_bytes).items()}
    sizes = {
        "latents": there["latent"] + there.get("rope", 0),
        "blocks": there["index"],
        "waiting": there["waiting"],
    }
    return tuple(KeptPart(code, spans[code], sizes[code]) for code in spans)


def layouts(config: PooledIndexConfig) -> dict[str, dict[str, float]]:
    """Return the layouts of MLA, each with the index keys of a token added."""
    return latent.layouts(config, index=index_elements(config))


def steady(config: PooledIndexConfig) -> tuple[int, int]:
    """Return the length from which every block of tokens adds the same, and the block."""
    return config.index_topk, config.pooling


def up_projected(
    config: PooledIndexConfig, form: str, _cache: str, heads: Heads, sizes: Sizes
) -> int:
    """Count the expanded keys and values of every head, of the tokens attended to."""
    of_choice = indexed.expanded_keys(sizes, attended(config, sizes.keys))
    return latent.up_projected(config, form, "latent", heads, replace(sizes, keys=of_choice))


def with_every_key(config: PooledIndexConfig) -> PooledIndexConfig:
    """Return the configuration with every token attended to."""
    return replace(config, index_topk=indexed.MOST - indexed.MOST % config.pooling)


def _own_cache(config: PooledIndexConfig) -> float:
    return per_token(kept(config, "pooled_index", ()))


_formula = partial(Formula, right=_own_cache)
FORMULAS = (
    _formula(
        code="right",
        written="d_c + d_R + d_I / m",
        short="d<sub>c</sub>+d<sub>R</sub>+d<sub>I</sub>/m",
        source="transformers glm5_next, get_pooled_states",
        numbers=_own_cache,
    ),
    _formula(
        code="not_pooled",
        written="d_c + d_R + d_I",
        short="d<sub>c</sub>+d<sub>R</sub>+d<sub>I</sub>",
        source="transformers glm5_next, the cache of its indexer",
        numbers=lambda c: latent.latent_elements(c) + indexed.index_elements(c),
    ),
    *(replace(one, right=_own_cache) for one in indexed.FORMULAS if one.code in ALSO_WRONG),
)
COSTS = Costs(
    weights=weights,
    kept=kept,
    written=written,
    products=products,
    up_projected=up_projected,
    parts=parts,
    steady=steady,
    with_every_key=with_every_key,
    of_latents=(*indexed.COSTS.of_latents, "W_IZ", "b_IZ"),
    formulas=FORMULAS,
    layouts=layouts,
)
