"""What MLA with an indexer over pooled keys declares."""

from functools import partial

from mla_engine.indexed.forms import over_choice
from mla_engine.latent import forms as latent
from mla_engine.latent.projections import latents_of, queries_of
from mla_engine.mechanism import Form, Mechanism
from mla_engine.pooled.pooling import in_blocks
from mla_engine.pooled_index import forms
from mla_engine.pooled_index.cache import PooledIndexCache
from mla_engine.pooled_index.config import PooledIndexConfig
from mla_engine.pooled_index.costs import COSTS
from mla_engine.pooled_index.indexer import index_blocks, indexed, tokens_of
from mla_engine.pooled_index.layer import PooledIndexAttention
from mla_engine.pooled_index.trace import PooledIndexAbsorbedTrace, PooledIndexTrace
from mla_engine.refusals import Phrase

STEP = (forms.decode, queries_of, latents_of, index_blocks, in_blocks, indexed, tokens_of)
EXPANDED = Form(
    name="expanded",
    trace=PooledIndexTrace,
    forward=PooledIndexAttention.forward,
    prefill=partial(forms.prefill, form=latent.expanded),
    decode={"pooled_index": partial(forms.decode, form=latent.expanded)},
    unmasked=latent.unmasked,
    weighed=latent.weighed_values,
    scores={"scores_C": ("q_C", "k_C"), "scores_R": ("q_R", "k_R")},
    growing=("scores_IE", "index_E", "scores_C", "scores_R", "o"),
    needs=Phrase("the_latents"),
    formulas=(*STEP, over_choice, latent.up_projected, latent.attend),
)
ABSORBED = Form(
    name="absorbed",
    trace=PooledIndexAbsorbedTrace,
    forward=PooledIndexAttention.forward_absorbed,
    prefill=partial(forms.prefill, form=latent.absorbed),
    decode={"pooled_index": partial(forms.decode, form=latent.absorbed)},
    unmasked=latent.unmasked,
    weighed=latent.weighed_latents,
    scores={"scores_C": ("q_C_absorbed", "c_KV"), "scores_R": ("q_R", "k_R")},
    growing=("scores_IE", "index_E", "scores_C", "scores_R", "o_latent"),
    needs=Phrase("the_latents"),
    formulas=(*STEP, over_choice, latent.absorbed),
)
MECHANISM = Mechanism(
    key="pooled_index",
    called=Phrase("pooled_index_attention"),
    config_type=PooledIndexConfig,
    layer=PooledIndexAttention,
    forms=(EXPANDED, ABSORBED),
    caches=(PooledIndexCache,),
    decoded_by={"pooled_index": "absorbed"},
    variants=(),
    ways=(),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: PooledIndexConfig(**{"latent_norm": True} | fields),
    kind=lambda _config: "pooled DSA",
    suggested=lambda _config: {},
    order=5,
)
