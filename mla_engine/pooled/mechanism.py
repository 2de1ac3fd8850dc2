"""Declares attention over a window and pooled entries."""

from collections.abc import Mapping
from dataclasses import replace
from math import gcd

from kvcount.refusals import Phrase
from mla_engine.config import AttentionConfig, LongRopeScaling, without_scaling
from mla_engine.mechanism import Form, Mechanism, Variant, Way
from mla_engine.pooled import forms, reading
from mla_engine.pooled.cache import PooledCache
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.costs import COSTS
from mla_engine.pooled.entries import choice, entries_of, index_of
from mla_engine.pooled.forms import PooledTrace
from mla_engine.pooled.layer import PooledAttention
from mla_engine.pooled.pooling import pooled
from mla_engine.pooled.projections import queries_of, tokens_of

SIZES = ("d_model", "n_heads", "d_latent_kv", "d_latent_q", "d_rope")
CSA = {"pooling": 4, "overlap": True, "index_topk": 512}  # of DeepSeek-V4-Flash
HCA = {"pooling": 128, "overlap": False, "index_topk": None}
WINDOW, NARROW = 128, 1024  # below this d_model a layer is a toy, whose sentence is to fill entries
TOY_CSA, TOY_HCA = CSA | {"pooling": 2, "index_topk": 2}, HCA | {"pooling": 4}
TOY_WINDOW, HEADS_IN_GROUP = 3, 8


def csa(s: Mapping[str, int], base: AttentionConfig) -> PooledConfig:
    """Return CSA, chosen entries of few tokens, of these sizes, with what else `base` has."""
    pooled = _of_sizes(s, base)
    if pooled.chooses:
        return pooled
    indexer = {"n_index_heads": s["n_heads"], "d_index": 2 * s["d_rope"] or s["d_latent_kv"]}
    return replace(pooled, **indexer, **(TOY_CSA if s["d_model"] < NARROW else CSA))


def hca(s: Mapping[str, int], base: AttentionConfig) -> PooledConfig:
    """Return HCA, all entries of many tokens, of these sizes, with what else `base` has."""
    pooled, pools = _of_sizes(s, base), TOY_HCA if s["d_model"] < NARROW else HCA
    if pooled.pooling and not pooled.chooses:
        return pooled
    return replace(pooled, **pools, n_index_heads=None, d_index=None)


def window(s: Mapping[str, int], base: AttentionConfig) -> PooledConfig:
    """Return only a window and the sink, of these sizes, with what else `base` has."""
    pools = {"pooling": 0, "overlap": False, "index_topk": None}
    return replace(_of_sizes(s, base), **pools, n_index_heads=None, d_index=None)


def _of_sizes(s: Mapping[str, int], base: AttentionConfig) -> PooledConfig:
    """Return sizes in the proportions of DeepSeek-V4: MLA's latent is key and value at once."""
    width = s["d_latent_kv"]
    sizes = {
        "d_model": s["d_model"],
        "n_heads": s["n_heads"],
        "d_head": width,
        "d_latent_q": s["d_latent_q"] or 2 * width,
        "d_rope": min(s["d_rope"], width // 2 * 2),
    }
    if isinstance(base, PooledConfig):
        return replace(base, **sizes, n_output_groups=gcd(s["n_heads"], base.n_output_groups))
    rope = base.rope
    if rope and isinstance(rope.scaling, LongRopeScaling):
        rope = without_scaling(rope)  # its factors are of another width
    return PooledConfig(
        **sizes,
        d_latent_o=2 * width,
        n_output_groups=s["n_heads"] // gcd(s["n_heads"], HEADS_IN_GROUP),
        window=TOY_WINDOW if s["d_model"] < NARROW else WINDOW,
        rope=rope,
    )


def kind(config: PooledConfig) -> str:
    """Name the kind by what it sees beyond the window: chosen entries, all of them, or none."""
    if config.chooses:
        return "CSA"
    return "HCA" if config.pooling else "SWA"


STEP = (
    forms.after,
    queries_of,
    tokens_of,
    entries_of,
    pooled,
    index_of,
    choice,
    forms.attend,
    forms.grouped_output,
)
FORM = Form(
    name="pooled",
    trace=PooledTrace,
    forward=PooledAttention.forward,
    prefill=forms.prefill,
    decode={"pooled": forms.after},
    unmasked=forms.unmasked,
    columns=reading.columns,
    scores={"scores_T": ("q", "kv_T"), "scores_E": ("q", "kv_E")},
    growing=("scores_IE", "index_E", "scores_T", "scores_E", "o_turned"),
    needs=Phrase("the_entries"),
    formulas=STEP,
)
MECHANISM = Mechanism(
    key="pooled",
    called=Phrase("pooled_attention"),
    config_type=PooledConfig,
    layer=PooledAttention,
    forms=(FORM,),
    caches=(PooledCache,),
    decoded_by={"pooled": "pooled"},
    variants=(
        Variant(code="csa", kind="CSA", form="pooled", sizes=SIZES, config=csa, order=7),
        Variant(code="hca", kind="HCA", form="pooled", sizes=SIZES, config=hca, order=8),
        Variant(
            code="swa",
            kind="SWA",
            form="pooled",
            sizes=SIZES,
            config=window,
            order=8,
            offered=False,  # V4 has a few such layers among its others
        ),
    ),
    ways=(
        Way(code="csa", variant="csa", form="pooled", cache="pooled", order=8, formulas=STEP),
        Way(code="hca", variant="hca", form="pooled", cache="pooled", order=9, formulas=STEP),
    ),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: PooledConfig(**fields),
    kind=kind,
    letters={
        "j": "n_index_heads",
        "x": "d_index",
        "a": "n_series",
        "m": "pooling",
        "p": "n_slots",
        "y": "n_output_groups",
        "z": "d_latent_o",
    },
    after_mla=True,
    order=4,
)
