"""Every intermediate of MLA, in each of its two forms."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.ops import hidden_
from mla_engine.trace import Trace


class _TwoScores:
    """Logits that are a content part and, where there are rotary dimensions, a position part."""

    @property
    def scores(self) -> Tensor:
        """The logits that enter the softmax, scores_C + scores_R, masked with -inf [b,h,t,s]."""
        return masked_sum(self.scores_C, self.scores_R, self.mask)


def masked_sum(scores_C: Tensor, scores_R: Tensor | None, mask: Tensor) -> Tensor:
    """scores_C + scores_R where the query sees the key, -inf elsewhere [b,h,t,s]."""
    total = scores_C.clone() if scores_R is None else scores_C + scores_R
    return hidden_(total, mask)


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentTrace(_TwoScores, Trace):
    """MLA, expanded form ("MHA mode"): keys and values of every head stand in full."""

    h: Tensor  # [b,t,d]
    c_Q_pre: Tensor | None  # [b,t,l]
    c_Q: Tensor | None  # [b,t,l]
    q_C: Tensor  # [b,t,h,k]
    q_R_pre: Tensor | None  # [b,t,h,r]
    q_R: Tensor | None  # [b,t,h,r]
    c_KV_pre: Tensor | None  # [b,s,c], None where the latents were handed in
    c_KV: Tensor  # [b,s,c]
    k_C: Tensor  # [b,s,h,k]
    v_C: Tensor  # [b,s,h,v]
    k_R_pre: Tensor | None  # [b,s,r]
    k_R: Tensor | None  # [b,s,r]
    scores_C: Tensor  # [b,h,t,s], scaled, unmasked
    scores_R: Tensor | None  # [b,h,t,s], scaled, unmasked
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    o: Tensor  # [b,t,h,v]
    gate: Tensor | None  # [b,t,h,v], from 0 to 1
    o_gated: Tensor | None  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "expanded"


@dataclass(frozen=True, kw_only=True, eq=False)
class AbsorbedTrace(_TwoScores, Trace):
    """MLA, absorbed form ("MQA mode"): queries move into latent space, no k_C and no v_C."""

    h: Tensor  # [b,t,d]
    c_Q_pre: Tensor | None  # [b,t,l]
    c_Q: Tensor | None  # [b,t,l]
    q_C: Tensor  # [b,t,h,k]
    q_C_absorbed: Tensor  # [b,t,h,c]
    q_R_pre: Tensor | None  # [b,t,h,r]
    q_R: Tensor | None  # [b,t,h,r]
    c_KV_pre: Tensor | None  # [b,s,c], None where the latents were handed in
    c_KV: Tensor  # [b,s,c]
    k_R_pre: Tensor | None  # [b,s,r]
    k_R: Tensor | None  # [b,s,r]
    scores_C: Tensor  # [b,h,t,s], scaled, unmasked
    scores_R: Tensor | None  # [b,h,t,s], scaled, unmasked
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    o_latent: Tensor  # [b,t,h,c]
    o: Tensor  # [b,t,h,v]
    gate: Tensor | None  # [b,t,h,v], from 0 to 1
    o_gated: Tensor | None  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "absorbed"
