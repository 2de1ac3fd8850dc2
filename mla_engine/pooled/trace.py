"""Every intermediate of attention over a window and pooled entries."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.ops import hidden_
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledTrace(Trace):
    """CSA, HCA or a window alone; i counts entries, p the tokens that one pools.

    attention, attention_E and sink_mass are of one softmax: over keys and entries, with what the
    sink takes, they add up to 1. A step has the entries' makings of the new ones alone.
    """

    h: Tensor  # [b,t,d]
    c_Q_pre: Tensor  # [b,t,l]
    c_Q: Tensor  # [b,t,l]
    q_pre: Tensor  # [b,t,h,k]
    q_normed: Tensor  # [b,t,h,k]
    q: Tensor  # [b,t,h,k], its last r rotated
    kv_T_pre: Tensor  # [b,s,k]
    kv_T_normed: Tensor  # [b,s,k]
    kv_T: Tensor  # [b,s,k], its last r rotated
    members: Tensor | None  # int64 [i,p], the tokens that an entry stands for; -1: none
    c_E: Tensor | None  # [b,s,a,k], None in all of the entries where nothing is pooled
    z_E: Tensor | None  # [b,s,a,k]
    gates: Tensor | None  # [b,i,p,k], of the new entries
    kv_E_pre: Tensor | None  # [b,i,k], of the new entries
    kv_E_normed: Tensor | None  # [b,i,k], of the new entries
    kv_E: Tensor | None  # [b,i,k], its last r rotated
    q_I_pre: Tensor | None  # [b,t,j,x], None in all of the indexer where nothing is chosen
    q_I: Tensor | None  # [b,t,j,x], its last r rotated
    w_I: Tensor | None  # [b,t,j], scaled
    c_IE: Tensor | None  # [b,s,a,x]
    z_IE: Tensor | None  # [b,s,a,x]
    gates_I: Tensor | None  # [b,i,p,x], of the new entries
    k_E_pre: Tensor | None  # [b,i,x], of the new entries
    k_E_normed: Tensor | None  # [b,i,x], of the new entries
    k_E: Tensor | None  # [b,i,x], its last r rotated
    scores_IE: Tensor | None  # [b,j,t,i], scaled, at least 0, unmasked
    index_E: Tensor | None  # [b,t,i], unmasked
    chosen_E: Tensor | None  # bool [b,t,i], True where the query attends to the entry
    scores_T: Tensor  # [b,h,t,s], scaled, unmasked
    scores_E: Tensor | None  # [b,h,t,i], scaled, of all entries
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    attention_E: Tensor | None  # [b,h,t,i], 0 where an entry is not chosen
    sink_mass: Tensor  # [b,h,t]
    o_turned: Tensor  # [b,t,h,v], its last r as the keys were rotated
    o: Tensor  # [b,t,h,v]
    c_O: Tensor  # [b,t,y,z], of the groups of these heads
    u: Tensor  # [b,t,d]

    form = "pooled"

    @property
    def scores(self) -> Tensor:
        """The logits of the keys in the window, -inf elsewhere [b,h,t,s]."""
        return hidden_(self.scores_T.clone(), self.mask)
