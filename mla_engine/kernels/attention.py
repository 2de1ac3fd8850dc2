"""Absorbed attention without a trace: the kernel where it runs, else the same in torch."""

import logging
import os
from collections.abc import Sequence
from importlib.util import find_spec

import torch
from torch import Tensor

from kvcount.lazy import LazyModule
from mla_engine.kernels import by_torch, plan
from mla_engine.kernels.keys import Keys

launch = LazyModule("mla_engine.kernels.launch")  # which needs requirements-gpu.txt

DTYPES = {"cuda": (torch.bfloat16, torch.float16), "cpu": (torch.float16, torch.float32)}
LATENTS, ROPES = (16, 32, 64, 128, 256, 512), (0, 16, 32, 64, 128)
LEAST_CAPABILITY = (8, 0)  # the first that copies to shared memory behind the computing
INTERPRETER_SLOTS = 8  # stands for the multiprocessors where there are none

_said: set[str] = set()


def absorbed_attention(
    q_C_absorbed: Tensor,
    q_R: Tensor | None,
    keys: Keys,
    scale: float,
    keys_a_part: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend causally from new tokens to cached latents, in latent space; no score is kept.

    Where the Triton kernel cannot run, `by_torch.attend` does, and why is logged once.

    Args:
        q_C_absorbed: [b,t,h,c]; the t query tokens are the last of their sequence.
        q_R: [b,t,h,r], None without rotary dimensions.
        keys: the cache, in the dtype of the queries.
        scale: of the softmax, the model's own: no width tells it.
        keys_a_part: that a program sees at most; by default chosen from the lengths, which are then
            read: a GPU is waited for, if they lie there.

    Returns:
        o [b,t,h,c] in the dtype of the queries, and log sum exp(scores) [b,t,h] in max(float32,
        dtype). A query without any key has 0 and +inf.

    Raises:
        ValueError: tensors that do not fit each other, named with their shapes.
    """
    keys.require(q_C_absorbed, q_R)
    keys, lengths = keys.with_lengths(q_C_absorbed, known=keys_a_part is not None)
    if why := why_not(q_C_absorbed, q_R, keys):
        _say(why)
        return by_torch.attend(q_C_absorbed, q_R, keys, scale)
    tile, _ = _tile(q_C_absorbed, keys)
    cut = keys_a_part or cut_of(q_C_absorbed, keys, lengths)
    most = max(lengths) if lengths else keys.room
    q_C, q_R = (None if q is None else q.contiguous() for q in (q_C_absorbed, q_R))
    return launch.attend(q_C, q_R, keys.packed(), scale, tile, cut, most)


def why_not(q_C: Tensor, q_R: Tensor | None, keys: Keys) -> str | None:
    """Name the obstacle for which the kernel cannot take these; None if it can."""
    numbers = [x for x in (q_C, q_R, keys.c_KV, keys.k_R) if x is not None]
    device, c = q_C.device, keys.c_KV.shape[-1]
    r = keys.width - c
    if device.type not in DTYPES or (device.type == "cpu" and not interpreted()):
        return f"device {device}: the kernel runs on CUDA"
    if find_spec("triton") is None:
        return "triton is not installed: see requirements-gpu.txt"
    if q_C.dtype not in DTYPES[device.type]:
        return f"dtype {q_C.dtype}: the kernel takes {DTYPES[device.type]}"
    if c not in LATENTS or r not in ROPES:
        return f"size c={c}, r={r}: the kernel takes c of {LATENTS} and r of {ROPES}"
    if any(x is not None and x.stride(-1) != 1 for x in (keys.c_KV, keys.k_R)):
        return "stride: the numbers of a cached token do not lie side by side"
    if torch.is_grad_enabled() and any(x.requires_grad for x in numbers):
        return "requires_grad: the kernel has no backward pass"
    return _chip(q_C, keys) if device.type == "cuda" else None


def interpreted() -> bool:
    """Return True if Triton runs kernels on the CPU, in its interpreter."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def _chip(q: Tensor, keys: Keys) -> str | None:
    has = torch.cuda.get_device_properties(q.device)
    if (has.major, has.minor) < LEAST_CAPABILITY:
        return f"device {has.name}: compute capability {has.major}.{has.minor} is below 8.0"
    shared = has.shared_memory_per_block_optin
    if plan.tile(1, keys.width, q.itemsize, shared, looked_up=keys.looked_up) is None:
        return f"device {has.name}: no tile fits its {shared:,} bytes of shared memory"
    return None


def _tile(q: Tensor, keys: Keys) -> tuple[plan.Tile, int]:
    """Return the tile of this call, and how many programs run at a time."""
    if not q.is_cuda:
        return plan.LEAST[-1], INTERPRETER_SLOTS
    has = torch.cuda.get_device_properties(q.device)
    n_rows = q.shape[2] * (q.shape[1] if keys.chosen is None else 1)
    shared = has.shared_memory_per_block_optin
    tile = plan.tile(n_rows, keys.width, q.itemsize, shared, looked_up=keys.looked_up)
    return tile, has.multi_processor_count * tile.resident


def cut_of(q: Tensor, keys: Keys, lengths: Sequence[int]) -> int:
    """Choose how many keys a program reads at most, by batch, lengths and multiprocessors.

    What `absorbed_attention` takes by itself; given to it, it need not read the lengths.

    Args:
        q: queries [b,t,h,c] that the kernel can take.
        keys: the cache; a query with keys of its own is as a sequence.
        lengths: of each sequence, on the host.
    """
    b, t, h, _ = q.shape
    tile, slots = _tile(q, keys)
    if keys.chosen is None:
        return plan.keys_a_part(lengths, -(-t * h // tile.rows), slots, tile.keys)
    blocks = b * t * -(-h // tile.rows)
    return plan.keys_a_part([keys.chosen.shape[-1]], blocks, slots, tile.keys)


def _say(why: str) -> None:
    if why not in _said:
        _said.add(why)
        logging.getLogger(__name__).warning("absorbed attention runs in torch: %s", why)
