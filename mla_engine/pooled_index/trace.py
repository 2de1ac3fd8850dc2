"""Every intermediate of MLA with an indexer over pooled keys, in each of its two forms."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.indexed.trace import IndexedAbsorbedTrace, IndexedTrace, OverChoice
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledIndexTrace(OverChoice, Trace):
    """Expanded form: keys and values of every head stand in full; i counts blocks of p tokens."""

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
    q_I: Tensor | None  # [b,t,j,x], None in all of the indexer where the choice is shared
    w_I: Tensor | None  # [b,t,j], scaled
    k_I_pre: Tensor | None  # [b,s,x]
    k_I: Tensor | None  # [b,s,x], of the new tokens
    z_IE: Tensor | None  # [b,s,a,x], of the new tokens
    members: Tensor | None  # int64 [i,p], the tokens of each block
    gates_I: Tensor | None  # [b,i,p,x], of the new blocks
    k_E: Tensor | None  # [b,i,x]
    scores_IE: Tensor | None  # [b,j,t,i], scaled, at least 0, unmasked
    index_E: Tensor | None  # [b,t,i], unmasked
    chosen_E: Tensor | None  # bool [b,t,i], True where the query chooses the block
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

    form = "pooled_index"
    as_in = IndexedTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledIndexAbsorbedTrace(OverChoice, Trace):
    """Absorbed form: queries move into latent space, no k_C and no v_C."""

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
    q_I: Tensor | None  # [b,t,j,x], None in all of the indexer where the choice is shared
    w_I: Tensor | None  # [b,t,j], scaled
    k_I_pre: Tensor | None  # [b,s,x]
    k_I: Tensor | None  # [b,s,x], of the new tokens
    z_IE: Tensor | None  # [b,s,a,x], of the new tokens
    members: Tensor | None  # int64 [i,p], the tokens of each block
    gates_I: Tensor | None  # [b,i,p,x], of the new blocks
    k_E: Tensor | None  # [b,i,x]
    scores_IE: Tensor | None  # [b,j,t,i], scaled, at least 0, unmasked
    index_E: Tensor | None  # [b,t,i], unmasked
    chosen_E: Tensor | None  # bool [b,t,i], True where the query chooses the block
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

    form = "pooled_index_absorbed"
    as_in = IndexedAbsorbedTrace
