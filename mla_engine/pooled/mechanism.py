"""What attention over a window and pooled entries declares."""

from mla_engine.mechanism import Form, Mechanism
from mla_engine.pooled import forms
from mla_engine.pooled.cache import PooledCache
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.costs import COSTS
from mla_engine.pooled.entries import entries_of
from mla_engine.pooled.indexer import choice, index_of
from mla_engine.pooled.layer import PooledAttention
from mla_engine.pooled.pooling import pooled
from mla_engine.pooled.projections import queries_of, tokens_of
from mla_engine.pooled.trace import PooledTrace
from mla_engine.refusals import Phrase


def kind(config: PooledConfig) -> str:
    """By what it sees beyond the window: chosen entries, all of them, or nothing."""
    if config.chooses:
        return "CSA"
    return "HCA" if config.pooling else "SWA"


FORM = Form(
    name="pooled",
    trace=PooledTrace,
    forward=PooledAttention.forward,
    prefill=forms.prefill,
    decode={"pooled": forms.after},
    unmasked=forms.unmasked,
    scores={"scores_T": ("q", "kv_T"), "scores_E": ("q", "kv_E")},
    growing=("scores_IE", "index_E", "scores_T", "scores_E", "o_turned"),
    needs=Phrase("the_entries"),
    formulas=(
        forms.after,
        queries_of,
        tokens_of,
        entries_of,
        pooled,
        index_of,
        choice,
        forms.attend,
        forms.grouped_output,
    ),
)
MECHANISM = Mechanism(
    key="pooled",
    called=Phrase("pooled_attention"),
    config_type=PooledConfig,
    layer=PooledAttention,
    forms=(FORM,),
    caches=(PooledCache,),
    decoded_by={"pooled": "pooled"},
    variants=(),
    ways=(),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: PooledConfig(**fields),
    kind=kind,
    suggested=lambda _config: {},
    letters={
        "j": "n_index_heads",
        "x": "d_index",
        "a": "n_series",
        "m": "pooling",
        "p": "n_slots",
        "y": "n_output_groups",
        "z": "d_latent_o",
    },
    order=4,
)
