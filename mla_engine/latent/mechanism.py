"""Declares Multi-head Latent Attention."""

from collections.abc import Mapping
from dataclasses import fields
from functools import partial

from kvcount.refusals import Phrase
from mla_engine.cache import KVCache
from mla_engine.config import AttentionConfig, without_scaling
from mla_engine.latent import forms
from mla_engine.latent.cache import LatentCache
from mla_engine.latent.config import LatentConfig
from mla_engine.latent.costs import COSTS
from mla_engine.latent.layer import MultiHeadLatentAttention
from mla_engine.latent.projections import latents_of, queries_of
from mla_engine.latent.trace import AbsorbedTrace, LatentTrace
from mla_engine.mechanism import COMMON_SIZES, Form, Mechanism, Variant, Way

SIZES = (*COMMON_SIZES, "d_latent_kv", "d_latent_q", "d_rope")


def suggested(config: AttentionConfig) -> dict[str, int]:
    """Return the paper's rule, d_c = 4 d_h and d_R = d_h / 2 (DeepSeek-V2, section 2.1.4)."""
    rope = config.d_head // 2 // 2 * 2
    return {"d_latent_kv": 4 * config.d_head, "d_latent_q": 0, "d_rope": rope}


def sizes_in(s: Mapping[str, int]) -> dict[str, int | None]:
    """Return the shared sizes as a configuration has them."""
    return {name: s[name] for name in SIZES} | {"d_latent_q": s["d_latent_q"] or None}


def of_sizes(s: Mapping[str, int], base: AttentionConfig) -> LatentConfig:
    """Return a configuration of these sizes, with what else `base` has."""
    if not isinstance(base, LatentConfig):
        return LatentConfig(**sizes_in(s), latent_norm=True, rope=without_scaling(base.rope))
    own = {field.name: getattr(base, field.name) for field in fields(LatentConfig)}
    return LatentConfig(**own | sizes_in(s))  # also of a configuration that has more


PROJECTED = (forms.prefill, queries_of, latents_of)
EXPANDED = Form(
    name="expanded",
    trace=LatentTrace,
    forward=MultiHeadLatentAttention.forward,
    prefill=partial(forms.prefill, form=forms.expanded),
    decode={
        "latent": partial(forms.decode_latent, form=forms.expanded),
        "kv": forms.decode_in_full,
    },
    unmasked=forms.unmasked,
    weighed=forms.weighed_values,
    scores={"scores_C": ("q_C", "k_C"), "scores_R": ("q_R", "k_R")},
    growing=("scores_C", "scores_R", "o"),
    formulas=(*PROJECTED, forms.up_projected, forms.attend),
)
ABSORBED = Form(
    name="absorbed",
    trace=AbsorbedTrace,
    forward=MultiHeadLatentAttention.forward_absorbed,
    prefill=partial(forms.prefill, form=forms.absorbed),
    decode={"latent": partial(forms.decode_latent, form=forms.absorbed)},
    unmasked=forms.unmasked,
    weighed=forms.weighed_latents,
    scores={"scores_C": ("q_C_absorbed", "c_KV"), "scores_R": ("q_R", "k_R")},
    growing=("scores_C", "scores_R", "o_latent"),
    needs=Phrase("the_latents"),
    formulas=(*PROJECTED, forms.absorbed),
)
MECHANISM = Mechanism(
    key="latent",
    called=Phrase("latent_attention"),
    config_type=LatentConfig,
    layer=MultiHeadLatentAttention,
    forms=(EXPANDED, ABSORBED),
    caches=(LatentCache, KVCache),
    decoded_by={"latent": "absorbed", "kv": "expanded"},
    variants=(
        Variant(code="mla", kind="MLA", form="expanded", sizes=SIZES, config=of_sizes, order=4),
        Variant(
            code="mla_absorbed",
            kind="MLA",
            form="absorbed",
            sizes=SIZES,
            config=of_sizes,
            order=5,
        ),
    ),
    ways=(  # first as it is served, then what it is compared with
        Way(
            code="mla_absorbed",
            variant="mla_absorbed",
            form="absorbed",
            cache="latent",
            order=4,
            formulas=(forms.decode_latent, forms.absorbed, LatentCache.append),
        ),
        Way(
            code="mla_each",
            variant="mla",
            form="expanded",
            cache="latent",
            order=5,
            formulas=(forms.decode_latent, forms.expanded, LatentCache.append),
        ),
        Way(
            code="mla_kv",
            variant="mla",
            form="expanded",
            cache="kv",
            prefill=False,  # before the first cache it is the next one
            order=6,
            formulas=(forms.decode_in_full, KVCache.append),
        ),
    ),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: LatentConfig(**{"latent_norm": True} | fields),
    kind=lambda _config: "MLA",
    suggested=suggested,
    order=1,
)
