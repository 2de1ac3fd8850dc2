"""Declares MLA with a lightning indexer."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial

from kvcount.refusals import Phrase
from mla_engine.config import AttentionConfig
from mla_engine.indexed import forms
from mla_engine.indexed.cache import IndexedCache
from mla_engine.indexed.config import IndexedConfig
from mla_engine.indexed.costs import COSTS
from mla_engine.indexed.forms import IndexedAbsorbedTrace, IndexedTrace
from mla_engine.indexed.indexer import choice, index_keys, index_queries, indexed
from mla_engine.indexed.layer import IndexedLatentAttention
from mla_engine.latent import forms as latent
from mla_engine.latent import mechanism as of_latent
from mla_engine.latent.projections import latents_of, queries_of
from mla_engine.mechanism import Mechanism, Variant, Way

TOPK = 2048  # of DeepSeek-V3.2 and GLM-5
NARROW, FEW = 1024, 4  # below this d_model a layer is a toy, whose sentence is to show a choice


def of_sizes(s: Mapping[str, int], base: AttentionConfig) -> IndexedConfig:
    """Return a configuration of these sizes, with what else `base` has.

    A model without an indexer gets one in the proportions of DeepSeek-V3.2 and of GLM-5: half as
    many index heads as heads, twice as wide as the rotated part.
    """
    if isinstance(base, IndexedConfig):
        own = {field.name: getattr(base, field.name) for field in fields(IndexedConfig)}
        return IndexedConfig(**own | of_latent.sizes_in(s))  # also of one that has more
    mla = of_latent.of_sizes(s, base)
    return IndexedConfig(
        **vars(mla),
        n_index_heads=max(1, mla.n_heads // 2),
        d_index=2 * mla.d_rope or mla.d_head,
        index_topk=FEW if mla.d_model < NARROW else TOPK,
    )


INDEXER = (index_queries, index_keys, indexed, choice)
PROJECTED = (forms.prefill, queries_of, latents_of, *INDEXER, forms.over_choice)
EXPANDED = replace(
    of_latent.EXPANDED,
    trace=IndexedTrace,
    forward=IndexedLatentAttention.forward,
    prefill=partial(forms.prefill, form=latent.expanded),
    decode={"indexed": partial(forms.decode, form=latent.expanded)},
    growing=("scores_I", "index", *of_latent.EXPANDED.growing),
    needs=Phrase("the_latents"),
    formulas=(*PROJECTED, latent.up_projected, latent.attend),
)
ABSORBED = replace(
    of_latent.ABSORBED,
    trace=IndexedAbsorbedTrace,
    forward=IndexedLatentAttention.forward_absorbed,
    prefill=partial(forms.prefill, form=latent.absorbed),
    decode={"indexed": partial(forms.decode, form=latent.absorbed)},
    growing=("scores_I", "index", *of_latent.ABSORBED.growing),
    formulas=(*PROJECTED, latent.absorbed),
)
MECHANISM = Mechanism(
    key="indexed",
    called=Phrase("indexed_attention"),
    config_type=IndexedConfig,
    layer=IndexedLatentAttention,
    forms=(EXPANDED, ABSORBED),
    caches=(IndexedCache,),
    decoded_by={"indexed": "absorbed"},
    variants=(
        Variant(
            code="dsa",
            kind="DSA",
            form="absorbed",
            sizes=of_latent.SIZES,
            config=of_sizes,
            order=6,
        ),
    ),
    ways=(
        Way(
            code="dsa",
            variant="dsa",
            form="absorbed",
            cache="indexed",
            order=7,
            formulas=(forms.decode, *INDEXER, latent.absorbed, IndexedCache.append),
        ),
    ),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: IndexedConfig(**{"latent_norm": True} | fields),
    kind=lambda _config: "DSA",
    letters={"j": "n_index_heads", "x": "d_index"},
    after_mla=True,
    order=2,
)
