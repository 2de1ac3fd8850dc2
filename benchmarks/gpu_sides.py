"""The cases that `gpu.py` times: their inputs, and every way to attend to them.

The adapters of flashinfer and FlashMLA follow these packages' documentation and tests; where this
was written neither could be run.
"""

import importlib
import importlib.metadata
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

import torch
from torch import Tensor

from mla_engine import ops
from mla_engine.kernels import Keys, absorbed_attention, by_torch, cut_of, why_not

D_HEAD, D_VALUE, PAGE = 128, 128, 64
EXPANDED_BYTES = 2**35  # of keys and values of every head, at most


class AbsentError(Exception):
    """This side cannot take the case, or is not there."""


@dataclass(frozen=True)
class Inputs:
    """Queries of one token a sequence and the cache, all of one case."""

    q_C: Tensor
    q_R: Tensor
    keys: Keys
    lengths: tuple[int, ...]
    scale: float


@dataclass(frozen=True)
class Case:
    """Sizes of a step: heads, the tokens of each sequence, and how many of them are read."""

    heads: int
    lengths: tuple[int, ...]
    topk: int | None = None
    c: int = 512
    r: int = 64
    dtype: torch.dtype = torch.bfloat16
    device: str = "cuda"
    scale: float = field(default=192**-0.5)

    @property
    def read(self) -> int:
        """Keys that a step attends to, of all sequences."""
        return sum(min(n, self.topk or n) for n in self.lengths)

    @property
    def cache_bytes(self) -> int:
        """The bytes of the cache, as long as its longest sequence."""
        return len(self.lengths) * max(self.lengths) * (self.c + self.r) * self.dtype.itemsize

    @property
    def flops(self) -> int:
        """The operations of scores and sums, those that count: absorbed attention's."""
        return 2 * self.heads * self.read * (2 * self.c + self.r)

    @property
    def bytes_moved(self) -> int:
        """At least: every latent that is read, once, queries and output."""
        queries = len(self.lengths) * self.heads * (2 * self.c + self.r)
        return (self.read * (self.c + self.r) + queries) * self.dtype.itemsize

    def about(self) -> dict[str, object]:
        """The sizes, for a table."""
        alike = len(set(self.lengths)) == 1
        context = self.lengths[0] if alike else "uneven"
        read = f"{context}, top {self.topk}" if self.topk else context
        return {"heads": self.heads, "batch": len(self.lengths), "context": read}

    def inputs(self, seed: int) -> Inputs:
        """Normal numbers; unused slots are NaN, and no side may read them."""
        b, s = len(self.lengths), max(self.lengths)
        made = torch.Generator(self.device).manual_seed(seed)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=made, device=self.device, dtype=self.dtype) / 3

        q_C, q_R = normal(b, 1, self.heads, self.c), normal(b, 1, self.heads, self.r)
        both = normal(b, s, self.c + self.r)
        lengths = torch.tensor(self.lengths, dtype=torch.int32, device=self.device)
        both[torch.arange(s, device=self.device) >= lengths[:, None]] = torch.nan
        chosen = None
        if self.topk:
            order = torch.rand(b, 1, s, generator=made, device=self.device).argsort(-1)
            chosen = order[..., : self.topk].to(torch.int32)
        keys = Keys(both[..., : self.c], both[..., self.c :], lengths, chosen=chosen)
        return Inputs(q_C, q_R, keys, self.lengths, self.scale)

    def apart(self, o: Tensor) -> float:
        """The largest difference from float64, of the first sequence, over its largest number."""
        x, n = self.inputs(0), self.lengths[0]
        keys = Keys(x.keys.c_KV[:1, :n].double(), x.keys.k_R[:1, :n].double(), [n])
        if self.topk:
            keys = Keys(keys.c_KV, keys.k_R, [n], chosen=x.keys.chosen[:1])
        keys, _ = keys.with_lengths(x.q_C[:1], known=False)
        true, _ = by_torch.attend(x.q_C[:1].double(), x.q_R[:1].double(), keys, self.scale)
        return float((o[:1].double().view_as(true) - true).abs().max() / true.abs().max())


def ours(x: Inputs) -> Callable:
    """The kernel of `mla_engine.kernels`, its parts chosen beforehand."""
    if why := why_not(x.q_C, x.q_R, x.keys):
        raise AbsentError(why)
    cut = cut_of(x.q_C, x.keys, x.lengths)
    return lambda: absorbed_attention(x.q_C, x.q_R, x.keys, x.scale, cut)[0]


def torch_form(x: Inputs) -> Callable:
    """The same formulas in torch, which keep every score."""
    return lambda: by_torch.attend(x.q_C, x.q_R, x.keys, x.scale)[0]


def compiled(x: Inputs) -> Callable:
    """The torch form through torch.compile."""
    if not x.q_C.is_cuda:
        raise AbsentError("compiled only for a GPU")
    run = _compiled(x.keys.c_KV.shape, x.q_C.shape)
    return lambda: run(x.q_C, x.q_R, x.keys, x.scale)[0]


@lru_cache(maxsize=1)
def _compiled(*_sizes: torch.Size) -> Callable:
    torch._dynamo.reset()  # after some sizes it would no longer compile, and not say so
    return torch.compile(by_torch.attend, dynamic=False)


def expanded(x: Inputs) -> Callable:
    """Torch's own attention over keys and values of every head, as a cache of MHA holds them.

    The numbers are others, zeros, as its latents would have to be up-projected: it is only timed.
    """
    b, _, h, _ = x.q_C.shape
    s = max(x.lengths)
    if x.keys.chosen is not None or min(x.lengths) < s:
        raise AbsentError("only all keys, of equal lengths")
    if b * h * s * (D_HEAD + x.q_R.shape[-1] + D_VALUE) * x.q_C.itemsize > EXPANDED_BYTES:
        raise AbsentError("keys and values of every head are beyond 32 GiB")
    q = x.q_C.new_zeros(b, h, 1, D_HEAD + x.q_R.shape[-1])
    k, v = q.new_zeros(b, h, s, q.shape[-1]), q.new_zeros(b, h, s, D_VALUE)
    return partial(ops.torch_attention, q, k, v, None, x.scale)


def flash_mla(x: Inputs) -> Callable:
    """DeepSeek's FlashMLA, over pages of 64 tokens."""
    module = _imported("flash_mla")
    paged, table = _paged(x)
    q = torch.cat((x.q_C, x.q_R), dim=-1)
    metadata, splits = module.get_mla_metadata()
    lengths, width = x.keys.lengths, x.q_C.shape[-1]
    return lambda: module.flash_mla_with_kvcache(
        q, paged, table, lengths, width, metadata, splits, causal=True, softmax_scale=x.scale
    )[0]


def flashinfer(x: Inputs) -> Callable:
    """flashinfer's paged MLA."""
    module = _imported("flashinfer")
    paged, table = _paged(x)
    pages = torch.tensor([math.ceil(n / PAGE) for n in x.lengths], device=table.device)
    ends = torch.cat((pages.new_zeros(1), pages.cumsum(0))).int()
    used = table[torch.arange(table.shape[1], device=table.device) < pages[:, None]]
    room = torch.empty(2**27, dtype=torch.uint8, device=table.device)
    wrapper = module.mla.BatchMLAPagedAttentionWrapper(room, backend="auto")
    b, _, h, c = x.q_C.shape
    rows = torch.arange(b + 1, device=table.device, dtype=torch.int32)
    sizes = (h, c, x.q_R.shape[-1], PAGE, False, x.scale, x.q_C.dtype, x.q_C.dtype)
    wrapper.plan(rows, ends, used, x.keys.lengths, *sizes)
    c_KV, k_R = paged.squeeze(2).split((c, x.q_R.shape[-1]), dim=-1)
    return lambda: wrapper.run(x.q_C.squeeze(1), x.q_R.squeeze(1), c_KV, k_R)


def tilelang(_: Inputs) -> Callable:
    """TileLang has its MLA decode among the examples of its repository, not in its package."""
    _imported("tilelang")
    raise AbsentError("its package has no MLA decode: copy examples/deepseek_mla beside this file")


def _imported(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AbsentError(f"{name} is not installed") from error


def _paged(x: Inputs) -> tuple[Tensor, Tensor]:
    """The cache in pages [p,s,1,c+r], and the table [b,n]."""
    if x.keys.chosen is not None:
        raise AbsentError("only all keys")
    both = torch.cat((x.keys.c_KV, x.keys.k_R), dim=-1)
    b, s, width = both.shape
    n = math.ceil(s / PAGE)
    paged = both.new_zeros(b, n * PAGE, width)
    paged[:, :s] = both.nan_to_num()
    table = torch.arange(b * n, dtype=torch.int32, device=both.device).view(b, n)
    return paged.view(b * n, PAGE, 1, width), table


def triton_version() -> str:
    """Return the version of the package, "" where it is not installed."""
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return ""


TIMED_ALONE = {"sdpa, expanded"}
SIDES: dict[str, Callable[[Inputs], Callable]] = {
    "ours": ours,
    "torch": torch_form,
    "torch.compile": compiled,
    "sdpa, expanded": expanded,
    "flashinfer": flashinfer,
    "flash_mla": flash_mla,
    "tilelang": tilelang,
}
