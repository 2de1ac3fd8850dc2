"""From tokens to entries: a gated softmax pools each block of tokens, channel by channel.

entry_i = RMSNorm(sum over slots p of softmax_p(z + b) c), rotated at the block's first token
(DeepSeek-V4, equations 9 to 12 and 20 to 23). A token's c and z wait until its block is full. With
overlap there are two series of them: the first goes into the entry after a token's own.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mla_engine.ops import product, rms_norm


class PoolWeights(NamedTuple):
    """The weights that make entries of width x, of keys with values or of index keys."""

    W_c: Tensor  # [a,x,d]
    W_z: Tensor  # [a,x,d]
    b_z: Tensor  # [a,m,x]
    norm: Tensor  # [x]
    eps: float


class Waiting(NamedTuple):
    """The tokens that wait in a cache for their entry."""

    c: Tensor  # [b,n,a,x], of the n < m tokens of the block that is not full yet
    z: Tensor  # [b,n,a,x]
    c_ahead: Tensor  # [b,m,x], what the last full block gives to the next entry; else [b,0,x]
    z_ahead: Tensor  # as c_ahead, with its bias


class Pooled(NamedTuple):
    """New entries, and what they are made of."""

    c: Tensor  # [b,s,a,x], of the new tokens
    z: Tensor  # [b,s,a,x]
    gates: Tensor  # [b,i,p,x], of the new entries
    pre: Tensor  # [b,i,x]
    normed: Tensor  # [b,i,x], not rotated yet


def pooled(w: PoolWeights, h: Tensor, held: Waiting) -> tuple[Pooled, Waiting]:
    """Return the entries that new tokens h [b,s,d] complete, and what waits then."""
    c, z = (product("bsd,axd->bsax", h, weight) for weight in (w.W_c, w.W_z))
    gates, pre, waiting = in_blocks(c, z, w.b_z, held)
    return Pooled(c, z, gates, pre, rms_norm(pre, w.norm, w.eps)), waiting


def in_blocks(c: Tensor, z: Tensor, b_z: Tensor, held: Waiting) -> tuple[Tensor, Tensor, Waiting]:
    """Complete blocks by new tokens: their gates [b,i,p,x], what they pool, and what waits.

    Args:
        c: what new tokens bring [b,s,a,x].
        z: the logits of its gates [b,s,a,x].
        b_z: their bias by the place in a block [a,m,x].
        held: what waited before.
    """
    tokens = b_z.shape[1]
    every_c, every_z = torch.cat((held.c, c), dim=1), torch.cat((held.z, z), dim=1)
    n = every_c.shape[1] // tokens
    full_c, full_z = (x[:, : n * tokens].unflatten(1, (n, tokens)) for x in (every_c, every_z))
    full_z = full_z + b_z.transpose(0, 1)
    slots_c = in_slots(full_c, held.c_ahead, 0.0)
    slots_z = in_slots(full_z, held.z_ahead, -torch.inf)
    wide = torch.promote_types(c.dtype, torch.float32)
    gates = torch.softmax(slots_z, dim=2, dtype=wide).to(c.dtype)
    pre = (slots_c * gates).sum(dim=2)
    ahead = held.c_ahead, held.z_ahead
    if n and full_c.shape[3] > 1:
        ahead = full_c[:, -1, :, 0], full_z[:, -1, :, 0]
    rest = every_c[:, n * tokens :], every_z[:, n * tokens :]
    return gates, pre, Waiting(*rest, *ahead)


def in_slots(full: Tensor, ahead: Tensor, absent: float) -> Tensor:
    """Return the slots that each entry pools [b,i,p,x], from full blocks [b,i,m,a,x].

    With two series the first m slots are the first series of the block before; before the first
    block of all there is nothing, `absent`.
    """
    if full.shape[3] == 1:
        return full[..., 0, :]
    first, own = full.unbind(3)
    before = ahead.unsqueeze(1) if ahead.shape[1] else torch.full_like(own[:, :1], absent)
    before = torch.cat((before, first), dim=1)[:, : own.shape[1]]
    return torch.cat((before, own), dim=2)


def members(entries: int, tokens: int, series: int, device: torch.device) -> Tensor:
    """Return the numbers of the tokens that each entry stands for: int64 [i,p], -1 for none."""
    first = torch.arange(entries, device=device).unsqueeze(-1) * tokens
    place = torch.arange((1 - series) * tokens, tokens, device=device)
    return (first + place).clamp(min=-1)


def places(positions: Tensor, tokens: int, waiting: int) -> Tensor:
    """Return the position of each new entry: that of its block's first token [i] or [b,i].

    That token may be of an earlier call; the last one is not, and is tokens - 1 further on.
    """
    return positions[..., tokens - 1 - waiting :: tokens] - (tokens - 1)
