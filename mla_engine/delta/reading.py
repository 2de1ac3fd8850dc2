"""What queries read of the state, told token by token, as a map of attention tells it.

S_t is linear in the values: S_t = sum over s <= t of P(t,s) b_s k_s v_s^T, where P(t,s) is the
product of (I - b_u k_u k_u^T) Diag(a_u) over u = s+1 ... t, the latest on the left. So
o_t = S_t^T q_t / sqrt(d_head) = sum over s of value_weights[t,s] v_s, with
value_weights[t,s] = b_s k_s^T P(t,s)^T q_t / sqrt(d_head). They may be below 0, and add up to
anything.
"""

from torch import Tensor, einsum

from mla_engine.delta.layer import DeltaAttention
from mla_engine.delta.trace import ChunkedTrace, RecurrentTrace

__all__ = ["value_weights"]

DeltaTrace = RecurrentTrace | ChunkedTrace


def value_weights(layer: DeltaAttention, trace: DeltaTrace) -> Tensor:
    """How much of v_D of token s is in o of token t [b,h,t,s]; 0 of later tokens.

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
