"""Seeded weights: a tensor depends on (seed, name, global head index) and on nothing else.

So head 77 of 128 is the same alone or with the others, on every device and in every dtype.
"""

import hashlib
from collections.abc import Iterable

import torch
from torch import Tensor, nn

PART = 2**18  # numbers that are drawn at once, so that little is held beside the weights


def _generator(seed: int, name: str, index: int) -> torch.Generator:
    digest = hashlib.blake2b(f"{seed}/{name}/{index}".encode(), digest_size=7).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest))


class Weights:
    """Draws normal weights of standard deviation fan_in^-1/2, in float64 on the CPU, then casts.

    On the meta device nothing is drawn: only shapes and dtypes, for the memory estimate.
    """

    def __init__(self, seed: int, dtype: torch.dtype, device: torch.device | str) -> None:
        self.seed, self.dtype, self.device = seed, dtype, torch.device(device)

    def _draw_into(self, target: Tensor, name: str, index: int, fan_in: int) -> None:
        """Draw `target`, some rows after the others; the numbers are those of one draw.

        The generator draws in blocks of 16, so that a part of 16 n rows ends with a block.
        """
        on_meta = self.device.type == "meta"
        generator = None if on_meta else _generator(self.seed, name, index)
        rows = 16 * max(1, PART // (16 * target[0].numel()))
        for part in target.split(rows):
            drawn = torch.empty(
                part.shape, dtype=torch.float64, device="meta" if on_meta else "cpu"
            )
            if not on_meta:
                drawn.normal_(std=fan_in**-0.5, generator=generator)
            part.copy_(drawn)

    def _parameter(self, data: Tensor) -> nn.Parameter:
        return nn.Parameter(data, requires_grad=False)  # to look at, not to train

    def shared(self, name: str, *shape: int, fan_in: int) -> nn.Parameter:
        """Return one tensor for the whole layer, [shape]."""
        data = torch.empty(shape, dtype=self.dtype, device=self.device)
        self._draw_into(data, name, 0, fan_in)
        return self._parameter(data)

    def per_head(
        self, name: str, heads: Iterable[int], *shape: int, fan_in: int, axis: int = 0
    ) -> nn.Parameter:
        """Return one tensor a head, drawn by its global index and stacked along `axis`."""
        heads = list(heads)
        full = [*shape[:axis], len(heads), *shape[axis:]]
        data = torch.empty(full, dtype=self.dtype, device=self.device)
        alike = self.device.type == "meta"  # what one head needs is let go before the next
        for place, head in enumerate(heads[:1] if alike else heads):
            self._draw_into(data.select(axis, place), name, head, fan_in)
        return self._parameter(data)

    def ones(self, size: int) -> nn.Parameter:
        """Return the weight of an RMSNorm, [size], as models start it."""
        return self._parameter(torch.ones(size, dtype=self.dtype, device=self.device))

    def zeros(self, size: int) -> nn.Parameter:
        """Return logits at 0, as models start them, [size]."""
        return self._parameter(torch.zeros(size, dtype=self.dtype, device=self.device))
