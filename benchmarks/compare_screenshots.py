"""Names the pictures of two folders that differ, and where.

    python benchmarks/screenshots.py --all build/before      # and again after a change
    python benchmarks/compare_screenshots.py build/before build/after build/differences

Prints a line for each picture of either folder, the largest share of changed pixels first; of those
that differ, the third folder gets both beside each other and what changed, in red.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

THRESHOLD = 24  # of 255 in a channel: less is how a letter's edge was smoothed
PAPER, RED = 255, (220, 0, 0)


@dataclass(frozen=True)
class Pair:
    """Two pictures [height, width, 3] of one name."""

    name: str
    before: np.ndarray
    after: np.ndarray

    @cached_property
    def changed(self) -> np.ndarray:
        """Mark the pixels that differ [height, width], and all that only one picture has."""
        height, width = np.maximum(self.before.shape, self.after.shape)[:2]
        both_height, both_width = np.minimum(self.before.shape, self.after.shape)[:2]
        both = np.s_[:both_height, :both_width]
        difference = np.abs(self.before[both].astype(int) - self.after[both])
        changed = np.ones((height, width), dtype=bool)
        changed[both] = difference.max(axis=-1) > THRESHOLD
        return changed

    @property
    def share(self) -> float:
        """The share of pixels that differ."""
        return float(self.changed.mean())

    @property
    def line(self) -> str:
        """The share, the name, and the sizes, both of them where they differ."""
        sizes = [f"{width}x{height}" for height, width, _ in (self.before.shape, self.after.shape)]
        return f"{self.share:9.4%}  {self.name}  {' -> '.join(dict.fromkeys(sizes))}"

    def side_by_side(self) -> Image.Image:
        """Before, after, and what changed, in red on the pale picture from before."""
        pale = PAPER - (PAPER - self._padded(self.before)) // 4
        marked = np.where(self.changed[..., None], RED, pale).astype(np.uint8)
        pictures = (self._padded(self.before), self._padded(self.after), marked)
        return Image.fromarray(np.concatenate(pictures, axis=1))

    def _padded(self, picture: np.ndarray) -> np.ndarray:
        missing = np.subtract(self.changed.shape, picture.shape[:2])
        return np.pad(picture, ((0, missing[0]), (0, missing[1]), (0, 0)), constant_values=PAPER)


def pairs(before: Path, after: Path) -> Iterator[Pair]:
    """The pictures of both folders by name; one that is missing has no pixels."""
    names = {file.name for folder in (before, after) for file in folder.glob("*.png")}
    for name in sorted(names):
        yield Pair(name, read(before / name), read(after / name))


def read(file: Path) -> np.ndarray:
    """A picture's colours [height, width, 3], of no height and width if there is none."""
    if not file.exists():
        return np.empty((0, 0, 3), dtype=np.uint8)
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"))


def main() -> None:
    """Compare, write and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for folder in ("before", "after", "differences"):
        parser.add_argument(folder, type=Path)
    given = parser.parse_args()
    given.differences.mkdir(parents=True, exist_ok=True)
    lines = {}
    for pair in pairs(given.before, given.after):
        lines[pair.line] = pair.share
        if pair.share:
            pair.side_by_side().save(given.differences / pair.name)
    print(*sorted(lines, key=lines.get, reverse=True), sep="\n")
    print(f"{sum(map(bool, lines.values()))} of {len(lines)} pictures differ")


if __name__ == "__main__":
    main()
