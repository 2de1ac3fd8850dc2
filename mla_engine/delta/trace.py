"""Every intermediate of Kimi Delta Attention, in each of its two forms."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class RecurrentTrace(Trace):
    """One token after the other: decay the state, erase, write, read."""

    h: Tensor  # [b,t,d]
    q_D_pre: Tensor  # [b,t,h,k]
    q_D_conv: Tensor  # [b,t,h,k]
    q_D: Tensor  # [b,t,h,k], of length 1
    k_D_pre: Tensor  # [b,t,h,k]
    k_D_conv: Tensor  # [b,t,h,k]
    k_D: Tensor  # [b,t,h,k], of length 1
    v_D_pre: Tensor  # [b,t,h,v]
    v_D: Tensor  # [b,t,h,v]
    c_A: Tensor | None  # [b,t,i]
    a_pre: Tensor  # [b,t,h,k]
    log_a: Tensor  # [b,t,h,k], at most 0
    a: Tensor  # [b,t,h,k], from 0 to 1
    b: Tensor  # [b,t,h], from 0 to 1
    erased: Tensor  # [b,t,h,v], along k_D
    written: Tensor  # [b,t,h,v], along k_D, what it takes away included
    S: Tensor  # [b,h,k,v], after the last token
    o: Tensor  # [b,t,h,v]
    c_G: Tensor | None  # [b,t,e]
    gate: Tensor  # [b,t,h,v], from 0 to 1
    o_normed: Tensor  # [b,t,h,v]
    o_gated: Tensor  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "recurrent"


@dataclass(frozen=True, kw_only=True, eq=False)
class ChunkedTrace(Trace):
    """Chunk after chunk: all writes of a chunk at once, by the WY form of their product."""

    h: Tensor  # [b,t,d]
    q_D_pre: Tensor  # [b,t,h,k]
    q_D_conv: Tensor  # [b,t,h,k]
    q_D: Tensor  # [b,t,h,k], of length 1
    k_D_pre: Tensor  # [b,t,h,k]
    k_D_conv: Tensor  # [b,t,h,k]
    k_D: Tensor  # [b,t,h,k], of length 1
    v_D_pre: Tensor  # [b,t,h,v]
    v_D: Tensor  # [b,t,h,v]
    c_A: Tensor | None  # [b,t,i]
    a_pre: Tensor  # [b,t,h,k]
    log_a: Tensor  # [b,t,h,k], at most 0
    a: Tensor  # [b,t,h,k], from 0 to 1
    b: Tensor  # [b,t,h], from 0 to 1
    k_WY: Tensor  # [b,t,h,k], what meets the state before the chunk
    v_WY: Tensor  # [b,t,h,v], what is written where that state is 0
    written: Tensor  # [b,t,h,v], along k_D, what it takes away included
    erased: Tensor  # [b,t,h,v], along k_D
    S: Tensor  # [b,h,k,v], after the last token
    o_past: Tensor  # [b,t,h,v], read of the state before the chunk
    o_near: Tensor  # [b,t,h,v], read of what the chunk itself wrote
    o: Tensor  # [b,t,h,v]
    c_G: Tensor | None  # [b,t,e]
    gate: Tensor  # [b,t,h,v], from 0 to 1
    o_normed: Tensor  # [b,t,h,v]
    o_gated: Tensor  # [b,t,h,v]
    u: Tensor  # [b,t,d]

    form = "chunked"
    as_in = RecurrentTrace
