"""Maps of what queries read of the state, told token by token, as of attention.

S_t is linear in the values: S_t = sum over s <= t of P(t,s) b_s k_s v_s^T, where P(t,s) is the
product of (I - b_u k_u k_u^T) Diag(a_u) over u = s+1 ... t, the latest on the left. So
o_t = S_t^T q_t / sqrt(d_head) = sum over s of value_weights[t,s] v_s, with
value_weights[t,s] = b_s k_s^T P(t,s)^T q_t / sqrt(d_head). They may be below 0, and add up to
anything.

How long a head remembers is in its decay: of what stands in a row of the state, exp of the sum of
log_a is left after some tokens, so that half of it is gone after ln 2 / -(mean of log_a) of them.
"""

import math
from dataclasses import dataclass

from torch import Tensor, einsum

from mla_engine.delta.forms import ChunkedTrace, RecurrentTrace
from mla_engine.delta.layer import DeltaAttention

__all__ = ["Memory", "memory", "value_weights"]

DeltaTrace = RecurrentTrace | ChunkedTrace


def value_weights(layer: DeltaAttention, trace: DeltaTrace) -> Tensor:
    """Return the weight of v_D of token s in o of token t [b,h,t,s]; 0 for later tokens.

    Args:
        layer: whose the trace is.
        trace: of any of its heads, from an empty state.
    """
    q, k, a, b = (trace.q_D * layer.config.scale).clone(), trace.k_D, trace.a, trace.b
    found = q.new_zeros(*q.shape[:3], q.shape[1])
    for s in reversed(range(q.shape[1])):
        read = q[:, s:]  # P(t,s)^T q_t / sqrt(d_head)
        along = b[:, s].unsqueeze(1) * einsum("bthk,bhk->bth", read, k[:, s])
        found[:, s:, :, s] = along
        q[:, s:] = a[:, s].unsqueeze(1) * (read - along.unsqueeze(-1) * k[:, s].unsqueeze(1))
    return found.transpose(1, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Memory:
    """The half-lives and the writes of the state of each head over a text, float64."""

    half_life: Tensor  # [h,k], tokens until the decay alone has halved a row; inf where none
    strength: Tensor  # [h,t], b of each token, the mean over the batch
    put: Tensor  # [h], length of b v, what a token puts in along its key, the mean over tokens
    erased: Tensor  # [h], length of what it takes away there, the mean over tokens

    @property
    def middle(self) -> Tensor:
        """The half-life of the middle channel of each head [h]."""
        return self.half_life.median(-1).values


def memory(trace: DeltaTrace) -> Memory:
    """Measure the memory of each head in the run of a text.

    What a token erases along its key goes beside the decay: a half-life tells how long a row stays
    that no token writes over.
    """
    rate = -trace.log_a.double().mean((0, 1))
    erased = trace.erased.double()
    put = trace.written.double() + erased
    return Memory(
        half_life=(math.log(2) / rate).cpu(),
        strength=trace.b.double().mean(0).T.cpu(),
        put=put.norm(dim=-1).mean((0, 1)).cpu(),
        erased=erased.norm(dim=-1).mean((0, 1)).cpu(),
    )
