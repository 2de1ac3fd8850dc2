"""Every intermediate of Kimi Delta Attention, in each of its two forms.

A field is declared once, in one of the parts that a trace names, the last part first: a dataclass
takes the fields of its bases from the last base to the first.
"""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.delta.projections import Entering, Leaving
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class Recurrence:
    """What every token does to the state, one after the other."""

    erased: Tensor  # [b,t,h,v], along k_D
    written: Tensor  # [b,t,h,v], along k_D, what it takes away included
    S: Tensor  # [b,h,k,v], after the last token
    o: Tensor  # [b,t,h,v]


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunks:
    """What the tokens of every chunk do to the state, all at once."""

    k_WY: Tensor  # [b,t,h,k], what meets the state before the chunk
    v_WY: Tensor  # [b,t,h,v], what is written where that state is 0
    written: Tensor  # [b,t,h,v], along k_D, what it takes away included
    erased: Tensor  # [b,t,h,v], along k_D
    S: Tensor  # [b,h,k,v], after the last token
    o_past: Tensor  # [b,t,h,v], read of the state before the chunk
    o_near: Tensor  # [b,t,h,v], read of what the chunk itself wrote
    o: Tensor  # [b,t,h,v]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecurrentTrace(Leaving, Recurrence, Entering, Trace):
    """One token after the other: decay the state, erase, write, read."""

    form = "recurrent"


@dataclass(frozen=True, kw_only=True, eq=False)
class ChunkedTrace(Leaving, Chunks, Entering, Trace):
    """Chunk after chunk: all writes of a chunk at once, by the WY form of their product."""

    form = "chunked"
    as_in = RecurrentTrace
