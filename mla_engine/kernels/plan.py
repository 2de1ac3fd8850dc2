"""Sizes of tiles, and of the parts that keys are cut into. Needs neither torch nor Triton.

What is said of registers and shared memory is what Triton 3.7.1 reports when it compiles for sm_90;
what would be fastest was not measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LOG2_E = 1.4426950408889634
SPARE_BYTES = 5120  # of shared memory, beside the tiles
BEGUN_TILES = 4  # the time of so many: to load q, fill the pipeline and write a part; an estimate
SUMMED_PARTS = 32  # are summed in the time of a tile; an estimate
MOST_PARTS = 1024


@dataclass(frozen=True)
class Tile:
    """The sizes of what a program works on at a time.

    Attributes:
        rows: heads x query tokens.
        keys: of a tile of the latent.
        warps: that share it.
        stages: of the pipeline that loads the next tiles.
        resident: programs that one multiprocessor holds at a time.
        held: tiles of keys in shared memory at a time, one of them on its way.
    """

    rows: int
    keys: int
    warps: int
    stages: int
    resident: int = 1
    held: int = 2

    def shared_bytes(self, width: int, itemsize: int) -> int:
        """Count at most the queries and the tiles of keys, `width` = c + r numbers each."""
        return (self.rows + self.held * self.keys) * width * itemsize + SPARE_BYTES

    def options(self) -> dict[str, int]:
        """Return the constants that a kernel is compiled with."""
        compiled = {"num_warps": self.warps, "num_stages": self.stages}
        return {"rows": self.rows, "keys": self.keys} | compiled


# 64 rows are what a warpgroup multiplies at once (wgmma), so fewer rows would waste products that
# many heads need; two groups share the 512 columns of the sum, 128 registers of a thread. 221 KiB
# of the 227 that a multiprocessor of an H200 lends.
# 16 and 32 rows, for few heads, are bound by memory: wgmma would multiply three rows of nothing for
# each, so mma.sync, which takes 16. Two programs of 16 rows share a multiprocessor, one computes
# while the other waits. Where a key's place is read first (pages, chosen keys) the pipeline needs a
# stage for that reading, and keeps one tile of latents for mma.sync: then the tile is larger.
DIRECT = (Tile(64, 64, 8, 2), Tile(32, 64, 8, 3), Tile(32, 32, 8, 3), Tile(16, 32, 4, 3, 2))
LOOKED_UP = (Tile(64, 64, 8, 3), Tile(32, 64, 8, 3), Tile(32, 32, 8, 3), Tile(16, 64, 4, 3, 2, 1))
LEAST = (Tile(16, 32, 4, 2), Tile(16, 16, 4, 2))  # for smaller chips; the last in the interpreter


def tile(
    n_rows: int, width: int, itemsize: int, shared_bytes: int, *, looked_up: bool
) -> Tile | None:
    """Choose the tile for this many rows of a sequence on such a chip; None where none fits.

    Args:
        n_rows: query tokens x heads.
        width: c + r.
        itemsize: bytes of a number.
        shared_bytes: that one program may have.
        looked_up: whether a key's place is read before the key.
    """
    wanted = 16 if n_rows <= 16 else 32 if n_rows <= 32 else 64
    every = (LOOKED_UP if looked_up else DIRECT) + LEAST
    few = [one for one in every if one.rows <= wanted]
    return next((one for one in few if one.shared_bytes(width, itemsize) <= shared_bytes), None)


def keys_a_part(lengths: Sequence[int], blocks: int, slots: int, keys: int) -> int:
    """Return the keys of a part at most, so that the parts of all sequences keep all slots busy.

    Programs run in waves, as many at a time as there are slots; a wave takes as long as its longest
    part. Few parts leave slots idle, many of them begin and are summed more often than needed: of
    all cuts that which would take the fewest tiles' time.

    Args:
        lengths: keys of each sequence.
        blocks: programs that each part needs: blocks of rows, and queries with keys of their own.
        slots: programs that run at a time: multiprocessors x what one holds.
        keys: of a tile.
    """
    tiles = np.maximum(-(-np.asarray(lengths, dtype=np.int64) // keys), 1)
    longest = int(tiles.max())
    wished = np.arange(1, min(longest, max(slots, 1), MOST_PARTS) + 1)
    most = np.unique(-(-longest // wished))[:, None]  # tiles of a part, [cut, 1]
    parts = -(-tiles // most)  # [cut, b]
    waves = -(-parts.sum(1) * blocks // slots)
    largest = (-(-tiles // parts)).max(1)
    summing = np.where(parts.max(1) > 1, 1 + parts.max(1) / SUMMED_PARTS, 0)
    best = int(np.argmin(waves * (largest + BEGUN_TILES) + summing))
    return int(most[best, 0]) * keys
