"""The two forms of Kimi Delta Attention in formulas over weights; arguments are valid and fit.

S_t = (I - b k k^T) Diag(a) S_(t-1) + b k v^T and o = S^T q / sqrt(d_head) (arXiv 2510.26692,
equation 1). Recurrent follows it token by token. Chunked makes all writes of 64 tokens at once out
of the state before them (section 3.2: WY form): two products of whole chunks instead of 64 steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, einsum

from mla_engine.delta.cache import DeltaCache
from mla_engine.delta.projections import (
    DeltaProjections,
    DeltaWeights,
    InputFields,
    OutputFields,
    project_in,
    project_out,
    wide,
)
from mla_engine.layer import Places
from mla_engine.ops import finite
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class Recurrence:
    """The effect of every token on the state, one after the other."""

    erased: Tensor  # [b,t,h,v], along k_D
    written: Tensor  # [b,t,h,v], along k_D, what it takes away included
    S: Tensor  # [b,h,k,v], after the last token
    o: Tensor  # [b,t,h,v]


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunks:
    """The effect of all tokens of a chunk on the state at once."""

    k_WY: Tensor  # [b,t,h,k], what meets the state before the chunk
    v_WY: Tensor  # [b,t,h,v], what is written where that state is 0
    written: Tensor  # [b,t,h,v], along k_D, what it takes away included
    erased: Tensor  # [b,t,h,v], along k_D
    S: Tensor  # [b,h,k,v], after the last token
    o_past: Tensor  # [b,t,h,v], read of the state before the chunk
    o_near: Tensor  # [b,t,h,v], read of what the chunk itself wrote
    o: Tensor  # [b,t,h,v]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecurrentTrace(OutputFields, Recurrence, InputFields, Trace):
    """One token after the other: decay the state, erase, write, read."""

    form = "recurrent"


@dataclass(frozen=True, kw_only=True, eq=False)
class ChunkedTrace(OutputFields, Chunks, InputFields, Trace):
    """Chunk after chunk: all writes of a chunk at once, by the WY form of their product."""

    form = "chunked"
    as_in = RecurrentTrace


CHUNK = 64  # tokens, as in the paper, in FLA and in transformers
DeltaTrace = RecurrentTrace | ChunkedTrace


def recurrent(w: DeltaWeights, h: Tensor, x: InputFields, S: Tensor) -> RecurrentTrace:
    """Run one token after the other, from the state S [b,h,k,v] on."""
    erased, written, o = [], [], []
    v, q = wide(x.v_D), x.q_D * w.config.scale
    for t in range(h.shape[1]):
        S = x.a[:, t].unsqueeze(-1) * S
        held = einsum("bhk,bhkv->bhv", x.k_D[:, t], S)
        erased.append(x.b[:, t].unsqueeze(-1) * held)
        written.append(x.b[:, t].unsqueeze(-1) * (v[:, t] - held))
        S = added(S, x.k_D[:, t], written[-1])
        o.append(einsum("bhk,bhkv->bhv", q[:, t], S))
    erased, written, o = (torch.stack(parts, dim=1) for parts in (erased, written, o))
    state = {"erased": erased, "written": written, "S": S, "o": o}
    return RecurrentTrace(**vars(x), **state, **vars(project_out(w, h, o)))


def added(S: Tensor, k: Tensor, written: Tensor) -> Tensor:
    """Return S + k written^T: a state [b,h,k,v] after a write [b,h,v] along k [b,h,k]."""
    shape = S.shape
    S, k, written = S.flatten(0, 1), k.flatten(0, 1).unsqueeze(-1), written.flatten(0, 1)
    return torch.baddbmm(S, k, written.unsqueeze(1)).view(shape)


def chunked(w: DeltaWeights, h: Tensor, x: InputFields, S: Tensor) -> ChunkedTrace:
    """Run chunk after chunk, from the state S [b,h,k,v] on."""
    made, length = [], _length(x)
    v, q = wide(x.v_D), x.q_D * w.config.scale
    split = (rows.split(length, dim=1) for rows in (q, x.k_D, v, x.log_a, x.b))
    for part in zip(*split, strict=True):
        *fields, S = chunk(*part, S)
        made.append(fields)
    joined = (torch.cat(parts, dim=1) for parts in zip(*made, strict=True))
    k_WY, v_WY, written, o_past, o_near = joined
    o = o_past + o_near
    return ChunkedTrace(
        **vars(x),
        k_WY=k_WY,
        v_WY=v_WY,
        written=written,
        erased=x.b.unsqueeze(-1) * v - written,
        S=S,
        o_past=o_past,
        o_near=o_near,
        o=o,
        **vars(project_out(w, h, o)),
    )


def _length(x: InputFields) -> int:
    """Return the tokens of a chunk: one where a number is broken, so that earlier stay right."""
    if torch.compiler.is_compiling():
        return CHUNK
    return CHUNK if all(finite(y) for y in (x.q_D, x.k_D, x.v_D, x.log_a, x.b)) else 1


def chunk(
    q: Tensor, k: Tensor, v: Tensor, log_a: Tensor, b: Tensor, S: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return k_WY, v_WY, written, o_past and o_near of a chunk, and the state behind it.

    Of two tokens j <= i, what j wrote has decayed by exp(since_i - since_j) when i comes: never
    above 1, where exp(-since_j) alone may be larger than any number.
    """
    since = log_a.cumsum(1)  # the decay since the chunk began
    apart = since.unsqueeze(2) - since.unsqueeze(1)  # [b,i,j,h,k]
    later = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool, device=q.device).triu(1)
    left = apart.masked_fill_(later[..., None, None], -torch.inf).exp() * k.unsqueeze(1)
    held = einsum("bihk,bijhk->bhij", k * b.unsqueeze(-1), left).tril(-1)
    whole = torch.eye(q.shape[1], dtype=q.dtype, device=q.device)
    T = torch.linalg.solve_triangular(whole + held, whole, upper=False, unitriangular=True)
    decayed = since.exp()
    k_WY = mixed(T, b.unsqueeze(-1) * k * decayed)
    v_WY = mixed(T, b.unsqueeze(-1) * v)
    written = v_WY - read(S, k_WY)
    o_past = read(S, q * decayed)
    o_near = mixed(einsum("bihk,bijhk->bhij", q, left), written)
    to_the_end = k * (since[:, -1:] - since).exp()
    new = to_the_end.permute(0, 2, 3, 1) @ written.transpose(1, 2)
    S = decayed[:, -1].unsqueeze(-1) * S + new
    return k_WY, v_WY, written, o_past, o_near, S


def mixed(pairs: Tensor, rows: Tensor) -> Tensor:
    """Sum over the tokens of a chunk: pairs [b,h,i,j] of rows [b,j,h,v], as [b,i,h,v]."""
    return (pairs @ rows.transpose(1, 2)).transpose(1, 2)


def read(S: Tensor, x: Tensor) -> Tensor:
    """Return S^T x: of a state [b,h,k,v] along the rows [b,i,h,k], as [b,i,h,v]."""
    return (x.transpose(1, 2) @ S).transpose(1, 2)


def prefill(
    layer: DeltaProjections,
    h: Tensor,
    _positions: Tensor,
    heads: Places = slice(None),
    form: Callable = chunked,
) -> DeltaTrace:
    """Run all of h from an empty state; `form` is `chunked` or `recurrent`."""
    w = layer.weights(heads)
    empty = DeltaCache.empty(layer.config, h.shape[0], layer.dtype, h.device, n_kv_heads=len(w.W_Q))
    x, _ = project_in(w, h, empty.tails)
    return form(w, h, x, empty.S)


def decode(
    layer: DeltaProjections,
    h: Tensor,
    cache: DeltaCache,
    _positions: Tensor,
    form: Callable = recurrent,
) -> tuple[DeltaTrace, DeltaCache]:
    """Run all of h after the tokens whose state the cache holds."""
    w = layer.weights()
    x, tails = project_in(w, h, cache.tails)
    trace = form(w, h, x, cache.S)
    return trace, cache.after(h.shape[1], tails, trace.S)


def fused(layer: DeltaProjections, h: Tensor, positions: Tensor) -> Tensor:
    """Return only u [b,t,d], of the chunked form."""
    return prefill(layer, h, positions).u


def states(_layer: DeltaProjections, k: Tensor, a: Tensor, written: Tensor, S: Tensor) -> Tensor:
    """Return the state of a head after each token [b,t,k,v], from S [b,k,v] on.

    Args:
        k: keys [b,t,k].
        a: decays [b,t,k].
        written: [b,t,v].
        S: the state before them.
    """
    found = []
    for t in range(k.shape[1]):
        S = a[:, t].unsqueeze(-1) * S + k[:, t].unsqueeze(-1) * written[:, t].unsqueeze(1)
        found.append(S)
    return torch.stack(found, dim=1)
