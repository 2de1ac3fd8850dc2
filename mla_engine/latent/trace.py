"""Every intermediate of MLA, in each of its two forms.

A field is declared once, in one of the parts below; a trace names its parts. The last part comes
first: a dataclass takes the fields of its bases from the last base to the first.
"""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.ops import hidden_
from mla_engine.trace import Trace


def masked_sum(scores_C: Tensor, scores_R: Tensor | None, mask: Tensor) -> Tensor:
    """Return scores_C + scores_R where the query sees the key, -inf elsewhere [b,h,t,s]."""
    total = scores_C.clone() if scores_R is None else scores_C + scores_R
    return hidden_(total, mask)


@dataclass(frozen=True, kw_only=True, eq=False)
class ContentQueries:
    """From h to the content queries of every head."""

    h: Tensor  # [b,t,d]
    c_Q_pre: Tensor | None  # [b,t,l]
    c_Q: Tensor | None  # [b,t,l]
    q_C: Tensor  # [b,t,h,k]


@dataclass(frozen=True, kw_only=True, eq=False)
class AbsorbedQueries(ContentQueries):
    """The content queries, moved into latent space."""

    q_C_absorbed: Tensor  # [b,t,h,c]


@dataclass(frozen=True, kw_only=True, eq=False)
class RotaryQueries:
    """The rotary queries of every head."""

    q_R_pre: Tensor | None  # [b,t,h,r]
    q_R: Tensor | None  # [b,t,h,r]


@dataclass(frozen=True, kw_only=True, eq=False)
class KVLatents:
    """The latents of keys and values."""

    c_KV_pre: Tensor | None  # [b,s,c], None where the latents were handed in
    c_KV: Tensor  # [b,s,c]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadKeys:
    """The content keys and the values of every head, up-projected."""

    k_C: Tensor  # [b,s,h,k]
    v_C: Tensor  # [b,s,h,v]


@dataclass(frozen=True, kw_only=True, eq=False)
class RotaryKeys:
    """The rotary keys that all heads share."""

    k_R_pre: Tensor | None  # [b,s,r]
    k_R: Tensor | None  # [b,s,r]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Logits that are a content part and, where there are rotary dimensions, a position part."""

    scores_C: Tensor  # [b,h,t,s], scaled, unmasked
    scores_R: Tensor | None  # [b,h,t,s], scaled, unmasked
    mask: Tensor  # bool [t,s], True where the query sees the key

    @property
    def scores(self) -> Tensor:
        """The logits that enter the softmax, scores_C + scores_R, masked with -inf [b,h,t,s]."""
        return masked_sum(self.scores_C, self.scores_R, self.visible)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attention:
    """The attention of every head."""

    attention: Tensor  # [b,h,t,s]


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentAttention(Attention):
    """The attention of every head, and the latents that it weighs."""

    o_latent: Tensor  # [b,t,h,c]


@dataclass(frozen=True, kw_only=True, eq=False)
class Output:
    """From the heads' outputs to u."""

    o: Tensor  # [b,t,h,v]
    gate: Tensor | None  # [b,t,h,v], from 0 to 1
    o_gated: Tensor | None  # [b,t,h,v]
    u: Tensor  # [b,t,d]


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentTrace(
    Output, Attention, Scores, RotaryKeys, HeadKeys, KVLatents, RotaryQueries, ContentQueries, Trace
):
    """MLA, expanded form ("MHA mode"): keys and values of every head stand in full."""

    form = "expanded"


@dataclass(frozen=True, kw_only=True, eq=False)
class AbsorbedTrace(
    Output, LatentAttention, Scores, RotaryKeys, KVLatents, RotaryQueries, AbsorbedQueries, Trace
):
    """MLA, absorbed form ("MQA mode"): queries move into latent space, no k_C and no v_C."""

    form = "absorbed"
