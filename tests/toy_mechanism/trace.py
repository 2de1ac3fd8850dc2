"""Every intermediate of attention with tied keys and values."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class TiedTrace(Trace):
    """One run."""

    h: Tensor  # [b,t,d]
    q: Tensor  # [b,t,h,k]
    kv: Tensor  # [b,s,h,k]
    scores: Tensor  # [b,h,t,s], scaled, masked with -inf
    mask: Tensor  # bool [t,s], True where the query sees the key
    attention: Tensor  # [b,h,t,s]
    o: Tensor  # [b,t,h,k]
    u: Tensor  # [b,t,d]

    form = "tied"
