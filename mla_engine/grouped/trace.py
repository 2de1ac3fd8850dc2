"""Every intermediate of MHA, GQA and MQA."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedTrace(Trace):
    """MHA, GQA or MQA."""

    h: Tensor  # [b,t,d]
    q_pre: Tensor  # [b,t,h,k]
    q: Tensor  # [b,t,h,k]
    k_pre: Tensor  # [b,s,g,k]
    k: Tensor  # [b,s,g,k]
    v: Tensor  # [b,s,g,v]
    scores: Tensor  # [b,h,t,s], scaled, soft-capped, masked with -inf
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    o: Tensor  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "grouped"
