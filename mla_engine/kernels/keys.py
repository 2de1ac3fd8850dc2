"""The keys of queries: cached latents, side by side or in pages, all of them or chosen ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from kvcount.refusals import RefusedError


@dataclass(frozen=True, eq=False)
class Keys:
    """The latents of b sequences, in which the new tokens are the last.

    Attributes:
        c_KV: [b,s,c] as a LatentCache has it, or pages of s tokens each [p,s,c].
        k_R: [b,s,r], or in pages [p,s,r]; None without rotary dimensions. Both may be views of one
            tensor.
        lengths: tokens of each sequence, the new ones among them; by default all that there is room
            for. What lies behind is not read.
        pages: integers [b,n], the pages of each sequence; behind its length they are not read.
        chosen: integers [b,t,i], the keys that each query sees, by their place in the sequence;
            those below 0, and those that it may not see, count as none (DSA).
    """

    c_KV: Tensor
    k_R: Tensor | None = None
    lengths: Tensor | Sequence[int] | None = None
    pages: Tensor | None = None
    chosen: Tensor | None = None

    @property
    def room(self) -> int:
        """Tokens that a sequence can have at most."""
        return self.c_KV.shape[1] * (1 if self.pages is None else self.pages.shape[1])

    @property
    def looked_up(self) -> bool:
        """True if the place of a key has to be looked up before it is read."""
        return self.pages is not None or self.chosen is not None

    @property
    def width(self) -> int:
        """Numbers of a token: c + r."""
        return self.c_KV.shape[-1] + (0 if self.k_R is None else self.k_R.shape[-1])

    def require(self, q_C: Tensor, q_R: Tensor | None) -> None:
        """Raise ValueError unless shapes, dtypes and devices belong to queries [b,t,h,c]."""
        b, t, h, c = q_C.shape
        first, s = (b if self.pages is None else self.c_KV.shape[0]), self.c_KV.shape[1]
        r = None if q_R is None else q_R.shape[-1]
        n, i = (None if x is None else x.shape[-1] for x in (self.pages, self.chosen))
        wanted = {
            "q_R": (q_R, None if r is None else [b, t, h, r]),
            "c_KV": (self.c_KV, [first, s, c]),
            "k_R": (self.k_R, None if r is None else [first, s, r]),
            "pages": (self.pages, None if n is None else [b, n]),
            "chosen": (self.chosen, None if i is None else [b, t, i]),
        }
        for name, (tensor, shape) in wanted.items():
            given = None if tensor is None else list(tensor.shape)
            if given != shape:
                raise RefusedError("kernel_shape", name=name, given=given, wanted=shape)
        for name in ("q_R", "c_KV", "k_R"):
            tensor = wanted[name][0]
            if tensor is not None and (tensor.dtype, tensor.device) != (q_C.dtype, q_C.device):
                held, like = ((str(x.dtype), str(x.device)) for x in (tensor, q_C))
                raise RefusedError("kernel_like", name=name, given=held, wanted=like)

    def with_lengths(self, q_C: Tensor, *, known: bool) -> tuple[Self, list[int] | None]:
        """Return these keys with lengths int32 [b] on the queries' device; the lengths on the host.

        Args:
            q_C: the queries.
            known: whether lengths on a GPU can stay only there; then the host has None.

        Raises:
            ValueError: lengths beyond the room, or not one for each sequence.
        """
        lengths = [self.room] * len(q_C) if self.lengths is None else self.lengths
        host = None
        if not (known and isinstance(lengths, Tensor) and lengths.is_cuda):
            host = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
            if len(host) != len(q_C) or not all(0 <= one <= self.room for one in host):
                raise RefusedError("kernel_lengths", given=host, batch=len(q_C), room=self.room)
        return replace(self, lengths=_places(lengths, q_C.device)), host

    def packed(self) -> Self:
        """Return the same with pages and chosen keys as a kernel reads them: int32, contiguous."""
        device = self.c_KV.device
        places = {"pages": self.pages, "chosen": self.chosen}
        given = {name: _places(x, device) for name, x in places.items() if x is not None}
        return replace(self, **given)


def _places(numbers: Tensor | Sequence[int], device: torch.device) -> Tensor:
    return torch.as_tensor(numbers, dtype=torch.int32).to(device).contiguous()
