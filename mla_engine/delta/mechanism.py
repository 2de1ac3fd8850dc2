"""Declares Kimi Delta Attention."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kvcount.refusals import Phrase
from mla_engine.config import AttentionConfig
from mla_engine.delta import forms, reading
from mla_engine.delta.cache import DeltaCache
from mla_engine.delta.config import DeltaConfig
from mla_engine.delta.costs import COSTS
from mla_engine.delta.forms import ChunkedTrace, RecurrentTrace
from mla_engine.delta.layer import DeltaAttention
from mla_engine.delta.projections import project_in, project_out
from mla_engine.mechanism import COMMON_SIZES, Form, Mechanism, Variant, Way


def of_sizes(s: Mapping[str, int], base: AttentionConfig) -> DeltaConfig:
    """Return a configuration of these sizes, else as `base`, or with ranks as in Kimi-Linear."""
    sizes = {name: s[name] for name in COMMON_SIZES}
    if isinstance(base, DeltaConfig):
        return replace(base, **sizes)
    return DeltaConfig(**sizes, d_decay=s["d_head"], d_gate=s["d_head"])


CHUNKED = Form(
    name="chunked",
    trace=ChunkedTrace,
    forward=DeltaAttention.forward,
    prefill=partial(forms.prefill, form=forms.chunked),
    decode={"delta": partial(forms.decode, form=forms.chunked)},
    read=reading.value_weights,
    needs=Phrase("the_state"),
    formulas=(forms.prefill, project_in, forms.chunked, forms.chunk, project_out),
)
RECURRENT = Form(
    name="recurrent",
    trace=RecurrentTrace,
    forward=DeltaAttention.forward_recurrent,
    prefill=partial(forms.prefill, form=forms.recurrent),
    decode={"delta": partial(forms.decode, form=forms.recurrent)},
    read=reading.value_weights,
    needs=Phrase("the_state"),
    formulas=(forms.prefill, project_in, forms.recurrent, forms.added, project_out),
)
MECHANISM = Mechanism(
    key="delta",
    called=Phrase("delta_attention"),
    config_type=DeltaConfig,
    layer=DeltaAttention,
    forms=(CHUNKED, RECURRENT),
    caches=(DeltaCache,),
    decoded_by={"delta": "recurrent"},
    variants=(
        Variant(
            code="kda", kind="KDA", form="recurrent", sizes=COMMON_SIZES, config=of_sizes, order=9
        ),
    ),
    ways=(
        Way(
            code="kda",
            variant="kda",
            form="recurrent",
            cache="delta",
            whole="chunked",
            order=10,
            formulas=(forms.decode, project_in, forms.recurrent, forms.added, project_out),
        ),
    ),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: DeltaConfig(**{n: x for n, x in fields.items() if n != "rope"}),
    kind=lambda _config: "KDA",
    letters={"w": "conv_width", "i": "d_decay", "e": "d_gate"},
    after_mla=True,
    order=4,
)
