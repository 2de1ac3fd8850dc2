"""What Kimi Delta Attention declares. No page shows it yet: it has no variants and no ways."""

from functools import partial

from mla_engine.delta import forms
from mla_engine.delta.cache import DeltaCache
from mla_engine.delta.config import DeltaConfig
from mla_engine.delta.costs import COSTS
from mla_engine.delta.layer import DeltaAttention
from mla_engine.delta.projections import entering, leaving
from mla_engine.delta.trace import ChunkedTrace, RecurrentTrace
from mla_engine.mechanism import Form, Mechanism
from mla_engine.refusals import Phrase

CHUNKED = Form(
    name="chunked",
    trace=ChunkedTrace,
    forward=DeltaAttention.forward,
    prefill=partial(forms.prefill, form=forms.chunked),
    decode={"delta": partial(forms.decode, form=forms.chunked)},
    needs=Phrase("the_state"),
    formulas=(forms.prefill, entering, forms.chunked, forms.chunk, leaving),
)
RECURRENT = Form(
    name="recurrent",
    trace=RecurrentTrace,
    forward=DeltaAttention.forward_recurrent,
    prefill=partial(forms.prefill, form=forms.recurrent),
    decode={"delta": partial(forms.decode, form=forms.recurrent)},
    needs=Phrase("the_state"),
    formulas=(forms.prefill, entering, forms.recurrent, forms.added, leaving),
)
MECHANISM = Mechanism(
    key="delta",
    called=Phrase("delta_attention"),
    config_type=DeltaConfig,
    layer=DeltaAttention,
    forms=(CHUNKED, RECURRENT),
    caches=(DeltaCache,),
    decoded_by={"delta": "recurrent"},
    variants=(),
    ways=(),
    costs=COSTS,
    fused=forms.fused,
    of_preset=lambda fields: DeltaConfig(**{n: x for n, x in fields.items() if n != "rope"}),
    kind=lambda _config: "KDA",
    suggested=lambda _config: {},
    letters={"w": "conv_width", "i": "d_decay", "e": "d_gate"},
    order=4,
)
