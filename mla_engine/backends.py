"""Torch's own attention by the fastest of its backends that takes the call, named by what ran.

MLA's keys are wider than its values (192 and 128 in DeepSeek-V3), which not every backend takes.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

FASTEST = (  # on a GPU, in the order in which they are tried; what a chip has no code for is passed
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
)
_watching: ContextVar[list[str] | None] = ContextVar("watching", default=None)


@contextmanager
def watched() -> Iterator[list[str]]:
    """The names of the backends that run in the block, a call each: `flash_attention`, `math`."""
    names: list[str] = []
    before = _watching.set(names)
    try:
        yield names
    finally:
        _watching.reset(before)


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, *, causal: bool = False
) -> Tensor:
    """o [b,h,t,v] of q [b,h,t,k], k [b,h,s,k] and v [b,h,s,v], without scores or attention kept.

    Args:
        q: queries.
        k: keys.
        v: values.
        mask: bool, broadcast to [b,h,t,s], True where the query sees the key.
        scale: of the scores.
        causal: the mask is the causal one of t = s; a GPU's kernels take no other by itself.
    """
    causal = causal and q.is_cuda
    given = {"attn_mask": None if causal else mask, "is_causal": causal, "scale": scale}
    if torch.compiler.is_compiling():
        return scaled_dot_product_attention(q, k, v, **given)
    backend = _first(q, k, v, given) if q.is_cuda else None
    with nullcontext() if backend is None else sdpa_kernel(backend):
        if (names := _watching.get()) is not None:
            names.append(_choice(q, k, v, given).name.lower())
        return scaled_dot_product_attention(q, k, v, **given)


def _first(q: Tensor, k: Tensor, v: Tensor, given: dict) -> SDPBackend:
    """The first of FASTEST that takes the call."""
    for backend in FASTEST:
        with sdpa_kernel(backend):
            if _choice(q, k, v, given) is backend:
                return backend
    return SDPBackend.MATH


def _choice(q: Tensor, k: Tensor, v: Tensor, given: dict) -> SDPBackend:
    """What torch takes of those that are switched on."""
    return SDPBackend(torch._fused_sdp_choice(q, k, v, **given))
