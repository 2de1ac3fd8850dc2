"""Declares attention with tied keys and values."""

from collections.abc import Mapping

from mla_engine.toy import forms
from mla_engine.toy.cache import TiedCache
from mla_engine.toy.config import TiedConfig
from mla_engine.toy.costs import COSTS
from mla_engine.toy.layer import TiedAttention
from mla_engine.toy.trace import TiedTrace

from mla_engine.config import AttentionConfig
from mla_engine.mechanism import Form, Mechanism, Variant, Way

SIZES = ("d_model", "n_heads", "d_head")


def of_sizes(s: Mapping[str, int], _base: AttentionConfig) -> TiedConfig:
    """A configuration of these sizes; the other has nothing more to give."""
    return TiedConfig(**{name: s[name] for name in SIZES})


MECHANISM = Mechanism(
    key="toy",
    called="tied heads",
    config_type=TiedConfig,
    layer=TiedAttention,
    forms=(
        Form(
            name="tied",
            trace=TiedTrace,
            forward=TiedAttention.forward,
            prefill=forms.prefill,
            decode={"tied": forms.decode},
            unmasked=forms.unmasked,
            weighed=forms.weighed,
            scores={"scores": ("q", "kv")},
            growing=("scores", "o"),
            needs="one tensor of keys and values",
            formulas=(forms.prefill, forms.keys, forms.attend),
        ),
    ),
    caches=(TiedCache,),
    decoded_by={"tied": "tied"},
    variants=(Variant(code="tied", kind="Tied", form="tied", sizes=SIZES, config=of_sizes),),
    ways=(
        Way(
            code="tied",
            variant="tied",
            form="tied",
            cache="tied",
            formulas=(forms.decode, TiedCache.append),
        ),
    ),
    costs=COSTS,
    fused=lambda layer, h, positions: forms.prefill(layer, h, positions).u,
    of_preset=lambda fields: of_sizes(fields, None),
    kind=lambda _config: "Tied",
    suggested=lambda _config: {},
)
