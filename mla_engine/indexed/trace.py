"""Every intermediate of MLA with a lightning indexer, in each of its two forms."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.latent.trace import AbsorbedTrace, LatentTrace, masked_sum
from mla_engine.trace import Trace


class OverChoice:
    """A run whose queries attend to chosen keys alone."""

    @property
    def visible(self) -> Tensor:
        """Where a query attends: to the chosen keys [b,1,t,s]."""
        return self.chosen.unsqueeze(1)

    @property
    def scores(self) -> Tensor:
        """The logits that enter the softmax: of chosen keys, -inf elsewhere [b,h,t,s]."""
        return masked_sum(self.scores_C, self.scores_R, self.visible)


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedTrace(OverChoice, Trace):
    """MLA with an indexer, expanded form: keys and values of every head stand in full."""

    h: Tensor  # [b,t,d]
    c_Q_pre: Tensor | None  # [b,t,l]
    c_Q: Tensor | None  # [b,t,l]
    q_C: Tensor  # [b,t,h,k]
    q_R_pre: Tensor | None  # [b,t,h,r]
    q_R: Tensor | None  # [b,t,h,r]
    c_KV_pre: Tensor | None  # [b,s,c], None where the latents were handed in
    c_KV: Tensor  # [b,s,c]
    k_R_pre: Tensor | None  # [b,s,r]
    k_R: Tensor | None  # [b,s,r]
    q_I_pre: Tensor | None  # [b,t,j,x], None in all of the indexer where the choice is shared
    q_I: Tensor | None  # [b,t,j,x], its first r rotated
    w_I: Tensor | None  # [b,t,j], scaled
    k_I_pre: Tensor | None  # [b,s,x]
    k_I_normed: Tensor | None  # [b,s,x]
    k_I: Tensor | None  # [b,s,x], its first r rotated
    scores_I: Tensor | None  # [b,j,t,s], scaled, at least 0, unmasked
    index: Tensor | None  # [b,t,s], unmasked
    chosen: Tensor  # bool [b,t,s], True where the query attends to the key
    k_C: Tensor  # [b,s,h,k]
    v_C: Tensor  # [b,s,h,v]
    scores_C: Tensor  # [b,h,t,s], scaled, of all keys
    scores_R: Tensor | None  # [b,h,t,s], scaled, of all keys
    mask: Tensor  # bool [t,s], True where the query sees the key
    left_out: Tensor  # [b,h,t], of dense attention
    attention: Tensor  # [b,h,t,s], 0 where a key is not chosen
    o: Tensor  # [b,t,h,v]
    gate: Tensor | None  # [b,t,h,v], from 0 to 1
    o_gated: Tensor | None  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "indexed"
    as_in = LatentTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedAbsorbedTrace(OverChoice, Trace):
    """MLA with an indexer, absorbed form: queries move into latent space, no k_C and no v_C."""

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
    q_I_pre: Tensor | None  # [b,t,j,x], None in all of the indexer where the choice is shared
    q_I: Tensor | None  # [b,t,j,x], its first r rotated
    w_I: Tensor | None  # [b,t,j], scaled
    k_I_pre: Tensor | None  # [b,s,x]
    k_I_normed: Tensor | None  # [b,s,x]
    k_I: Tensor | None  # [b,s,x], its first r rotated
    scores_I: Tensor | None  # [b,j,t,s], scaled, at least 0, unmasked
    index: Tensor | None  # [b,t,s], unmasked
    chosen: Tensor  # bool [b,t,s], True where the query attends to the key
    scores_C: Tensor  # [b,h,t,s], scaled, of all keys
    scores_R: Tensor | None  # [b,h,t,s], scaled, of all keys
    mask: Tensor  # bool [t,s], True where the query sees the key
    left_out: Tensor  # [b,h,t], of dense attention
    attention: Tensor  # [b,h,t,s], 0 where a key is not chosen
    o_latent: Tensor  # [b,t,h,c]
    o: Tensor  # [b,t,h,v]
    gate: Tensor | None  # [b,t,h,v], from 0 to 1
    o_gated: Tensor | None  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "indexed_absorbed"
    as_in = AbsorbedTrace
