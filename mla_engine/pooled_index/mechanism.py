"""Declares MLA with an indexer over pooled keys."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kvcount.refusals import Phrase
from mla_engine.config import AttentionConfig
from mla_engine.indexed import forms
from mla_engine.indexed import mechanism as of_indexed
from mla_engine.latent import forms as latent
from mla_engine.latent import mechanism as of_latent
from mla_engine.latent.projections import latents_of, queries_of
from mla_engine.mechanism import Mechanism, Variant, Way
from mla_engine.pooled.pooling import in_blocks
from mla_engine.pooled_index.cache import PooledIndexCache
from mla_engine.pooled_index.config import PooledIndexConfig
from mla_engine.pooled_index.costs import COSTS
from mla_engine.pooled_index.indexer import index_blocks, indexed, tokens_of
from mla_engine.pooled_index.layer import (
    PooledIndexAbsorbedTrace,
    PooledIndexAttention,
    PooledIndexTrace,
)

POOLING, TOY_POOLING = 4, 2  # of GLM-5.3-Flash; of a layer whose sentence is to show a choice


def of_sizes(s: Mapping[str, int], base: AttentionConfig) -> PooledIndexConfig:
    """Return a configuration of these sizes, with what else `base` has.

    A model of another kind gets DSA's indexer at these sizes, over blocks of as many tokens as
    GLM-5.3-Flash pools, and loses the part that is rotated.
    """
    if isinstance(base, PooledIndexConfig):
        return replace(base, **of_latent.sizes_in(s | {"d_rope": base.d_rope}))
    dsa = replace(of_indexed.of_sizes(s, base), d_rope=0, rope=None)
    pooling = TOY_POOLING if dsa.d_model < of_indexed.NARROW else POOLING
    topk = max(pooling, dsa.index_topk // pooling * pooling)  # whole blocks
    return PooledIndexConfig(**vars(dsa) | {"index_topk": topk}, pooling=pooling)


KEYS = (PooledIndexAttention.keys_after, latents_of, index_blocks, in_blocks)
PROJECTED = (queries_of, *KEYS, indexed, tokens_of, forms.over_choice)
EXPANDED = replace(
    of_indexed.EXPANDED,
    trace=PooledIndexTrace,
    decode={"pooled_index": partial(forms.decode, form=latent.expanded)},
    growing=("scores_IE", "index_E", *of_latent.EXPANDED.growing),
    formulas=(forms.prefill, *PROJECTED, latent.up_projected, latent.attend),
)
ABSORBED = replace(
    of_indexed.ABSORBED,
    trace=PooledIndexAbsorbedTrace,
    decode={"pooled_index": partial(forms.decode, form=latent.absorbed)},
    growing=("scores_IE", "index_E", *of_latent.ABSORBED.growing),
    formulas=(forms.prefill, *PROJECTED, latent.absorbed),
)
MECHANISM = Mechanism(
    key="pooled_index",
    called=Phrase("pooled_index_attention"),
    config_type=PooledIndexConfig,
    layer=PooledIndexAttention,
    forms=(EXPANDED, ABSORBED),
    caches=(PooledIndexCache,),
    decoded_by={"pooled_index": "absorbed"},
    variants=(
        Variant(
            code="block_dsa",
            kind="Block DSA",
            form="absorbed",
            sizes=of_latent.SIZES,
            config=of_sizes,
            order=10,
        ),
    ),
    ways=(
        Way(
            code="block_dsa",
            variant="block_dsa",
            form="absorbed",
            cache="pooled_index",
            order=11,
            formulas=(forms.decode, *PROJECTED, latent.absorbed),
        ),
    ),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: PooledIndexConfig(**{"latent_norm": True} | fields),
    kind=lambda _config: "Block DSA",
    letters={
        "j": "n_index_heads",
        "x": "d_index",
        "a": "n_series",
        "m": "pooling",
        "p": "n_slots",
    },
    after_mla=True,
    order=5,
)
