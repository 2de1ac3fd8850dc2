"""Every intermediate of a whole decoder; the fields stand in the order of computation."""

from dataclasses import dataclass

from torch import Tensor

from mla_engine import tree
from mla_engine.ops import softmax
from mla_engine.trace import Trace

__all__ = ["BlockTrace", "ModelTrace"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockTrace:
    """One layer; its attention reads the norm of x, which its trace has as h."""

    x: Tensor  # [b,t,d], the residual stream as it comes in
    attention: Trace
    x_mid: Tensor  # [b,t,d], x + u
    normed: Tensor  # [b,t,d], the norm of x_mid
    gate: Tensor  # [b,t,f]
    up: Tensor  # [b,t,f]
    hidden: Tensor  # [b,t,f], silu(gate) * up
    x_out: Tensor  # [b,t,d], x_mid + W_down hidden


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelTrace:
    """From words to the logits of the next word."""

    tokens: Tensor  # int64 [b,t]
    embedded: Tensor  # [b,t,d]
    blocks: tuple[BlockTrace, ...]
    normed: Tensor  # [b,t,d], the norm of the last block's x_out
    logits: Tensor  # [b,t,n]

    def probabilities(self, temperature: float = 1.0) -> Tensor:
        """Of every word as the next one, softmax(logits / temperature) [b,t,n]."""
        return softmax(self.logits / temperature)


for kind in (BlockTrace, ModelTrace):
    tree.register(
        kind, lambda trace: (vars(trace), None), lambda parts, _, kind=kind: kind(**parts)
    )
