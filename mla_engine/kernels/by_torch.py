"""Absorbed attention in torch: the fallback of the kernel and, in float64, its oracle.

It makes every score and lays the keys out side by side, which the kernel does not.
"""

import torch
from torch import Tensor, einsum

from mla_engine.kernels.keys import Keys


def attend(q_C: Tensor, q_R: Tensor | None, keys: Keys, scale: float) -> tuple[Tensor, Tensor]:
    """Return o [b,t,h,c] and lse [b,t,h]; arguments as `attention.absorbed_attention`, valid."""
    b, t, h, _ = q_C.shape
    c_KV, k_R, pages, lengths = keys.c_KV, keys.k_R, keys.pages, keys.lengths
    last = lengths[:, None] - t + torch.arange(t, device=q_C.device)  # [b,t]
    full = not keys.looked_up and bool((lengths == keys.room).all())
    if pages is None:  # a sequence is a page
        pages = torch.arange(b, device=q_C.device)[:, None]
    if keys.chosen is None:
        key = torch.arange(keys.room, device=q_C.device).expand(b, -1)  # [b,s]
    else:  # a query that has keys of its own is as a sequence of one query
        q_C, q_R = (None if q is None else q.flatten(0, 1)[:, None] for q in (q_C, q_R))
        key, last = keys.chosen.flatten(0, 1).long(), last.flatten()[:, None]
        lengths, pages = lengths.repeat_interleave(t), pages.repeat_interleave(t, 0)
    held = (key >= 0) & (key < lengths[:, None])
    if not full:
        c_KV, k_R = (_side_by_side(cache, key, held, pages) for cache in (c_KV, k_R))
    scores = _scores(q_C, c_KV) if q_R is None else _scores(q_C, c_KV) + _scores(q_R, k_R)
    visible = held[:, None] & (key[:, None] <= last[..., None])  # [b,t,s]
    scores = (scores * scale).masked_fill(~visible[:, None], -torch.inf)
    lse = scores.logsumexp(-1)  # [b,h,t]
    empty = lse == -torch.inf
    attention = (scores - lse.masked_fill(empty, 0)[..., None]).exp()
    o = einsum("bhts,bsc->bthc", attention.to(c_KV.dtype), c_KV)
    lse = lse.masked_fill(empty, torch.inf).mT
    return o.reshape(b, t, h, -1), lse.reshape(b, t, h)


def _scores(q: Tensor, keys: Tensor) -> Tensor:
    """Return q keys [b,h,t,s] in max(float32, dtype)."""
    wide = torch.promote_types(q.dtype, torch.float32)
    return einsum("bthc,bsc->bhts", q, keys).to(wide)


def _side_by_side(cache: Tensor | None, key: Tensor, held: Tensor, pages: Tensor) -> Tensor | None:
    """Return the rows of a cache [p,s,c] at the places `key` [b,s]; 0 for those that are not held.

    What no token has written may be NaN, and 0 times NaN is NaN.
    """
    if cache is None:
        return None
    key = key.where(held, 0)
    page = pages.long().gather(1, key // cache.shape[1]).where(held, 0)
    return cache[page, key % cache.shape[1]].masked_fill(~held[..., None], 0)
