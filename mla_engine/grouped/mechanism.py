"""Declares MHA, GQA and MQA."""

from collections.abc import Mapping
from dataclasses import replace

from kvcount.refusals import Phrase
from mla_engine.cache import KVCache
from mla_engine.config import AttentionConfig, without_scaling
from mla_engine.grouped import forms
from mla_engine.grouped.config import GroupedConfig
from mla_engine.grouped.costs import COSTS
from mla_engine.grouped.forms import GroupedTrace
from mla_engine.grouped.layer import GroupedQueryAttention
from mla_engine.grouped.projections import keys
from mla_engine.mechanism import COMMON_SIZES, Form, Mechanism, Variant, Way

MOST_SUGGESTED = 8  # KV heads, as Llama 3 and many after it have


def kind(config: GroupedConfig) -> str:
    """Name the kind by the number of KV heads."""
    return {config.n_heads: "MHA", 1: "MQA"}.get(config.n_kv_heads, "GQA")


def suggested(config: AttentionConfig) -> dict[str, int]:
    """Return the most KV heads up to eight that the heads can share."""
    n, most = config.n_heads, min(config.n_heads, MOST_SUGGESTED)
    return {"n_kv_heads": max(g for g in range(1, most + 1) if n % g == 0)}


def _of_sizes(s: Mapping[str, int], base: AttentionConfig, n_kv_heads: int) -> GroupedConfig:
    sizes = {name: s[name] for name in COMMON_SIZES} | {"n_kv_heads": n_kv_heads}
    if isinstance(base, GroupedConfig):
        return replace(base, **sizes)
    return GroupedConfig(**sizes, rope=without_scaling(base.rope))


MHA = Variant(
    code="mha",
    kind="MHA",
    form="expanded",
    sizes=COMMON_SIZES,
    config=lambda s, base: _of_sizes(s, base, s["n_heads"]),
    order=1,
)
GQA = Variant(
    code="gqa",
    kind="GQA",
    form="expanded",
    sizes=(*COMMON_SIZES, "n_kv_heads"),
    config=lambda s, base: _of_sizes(s, base, s["n_kv_heads"]),
    order=2,
)
MQA = Variant(
    code="mqa",
    kind="MQA",
    form="expanded",
    sizes=COMMON_SIZES,
    config=lambda s, base: _of_sizes(s, base, 1),
    order=3,
)
EXPANDED = Form(
    name="expanded",
    trace=GroupedTrace,
    forward=GroupedQueryAttention.forward,
    prefill=forms.prefill,
    decode={"kv": forms.decode},
    unmasked=forms.unmasked,
    columns=forms.columns,
    weighed=forms.weighed,
    scores={"scores": ("q", "k")},
    growing=("scores", "o"),
    formulas=(forms.prefill, keys, forms.attend, forms.logits, forms.shares),
)
STEP = (forms.decode, KVCache.append)
MECHANISM = Mechanism(
    key="grouped",
    called=Phrase("grouped_heads"),
    config_type=GroupedConfig,
    layer=GroupedQueryAttention,
    forms=(EXPANDED,),
    caches=(KVCache,),
    decoded_by={"kv": "expanded"},
    variants=(MHA, GQA, MQA),
    ways=tuple(
        Way(
            code=variant.code,
            variant=variant.code,
            form="expanded",
            cache="kv",
            order=variant.order,
            formulas=STEP,
        )
        for variant in (MHA, GQA, MQA)
    ),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: GroupedConfig(**fields),
    kind=kind,
    suggested=suggested,
    order=2,
)
