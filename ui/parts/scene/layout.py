"""The place and size of each tensor in the scene; its area is the count of its numbers.

All variants of a model share one scale, one set of lanes and one set of stages, so that one of them
turns into another before the reader's eyes. There are two pictures: in the wide one the stages
stand from left to right and a lane is a row; in the tall one, for a phone, they stand from top to
bottom and a lane is a column.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from typing import Any

from mla_engine import SYMBOLS
from ui.parts.scene.scene import TOKENS, Scene
from ui.parts.scene.tensors import CONTENT, STAGES, Tensor
from ui.words.numbers import count, share
from ui.words.text import t

EDGE = 16  # left of the shelf
TITLE = 46  # from the lanes to the words over the shelf
WORDS = 44  # below the shelf: the tokens, in two rows where they stand close
FACTS = 110  # below the words, where the picture is tall: how many are kept
UNIT = 16  # the least side of the square that tells the scale


@dataclass(frozen=True)
class Frame:
    """The proportions of a picture.

    Args:
        tall: whether the stages stand from top to bottom.
        stage: from one stage to the next.
        lanes: the most that all lanes take, side by side.
        largest: width and height of the largest block; what has more numbers is cut there.
        names: room for a block's name, above it or, in a tall picture, left of it.
        first: the same in the lane of the attention, whose name is long.
        bend: of a curve's length, before it enters a block.
        square: side of the largest square on the shelf.
        pitch: from one token on the shelf to the next.
    """

    tall: bool
    stage: float
    lanes: float
    largest: tuple[float, float]
    names: float
    first: float
    bend: float
    square: float
    pitch: float

    @property
    def width(self) -> float:
        """The width of the picture."""
        return self.lanes if self.tall else STAGES * self.stage


WIDE = Frame(False, 150, 452, (124, 58), 36, 36, 34, 72, 88)
TALL = Frame(True, 74, 463, (46, 44), 33, 87, 26, 44, 51)
ROUNDING = 1e-3  # of a number
LEAST = 6  # side of the smallest square on the shelf, so that it can be seen
DOT = 1.5  # side of one that is too small for that beside MHA's, which is no longer to scale
CROWD = 100  # times as many numbers that MHA keeps then


@dataclass(frozen=True)
class Block:
    """A tensor's rectangle; x and y are those of its upper left corner.

    `share` of its numbers are drawn: 1, or less where it is cut at the bottom.
    """

    tensor: Tensor
    x: float
    y: float
    width: float
    height: float
    share: float


class Layout:
    """The common scale and lanes of several variants of one model.

    What all heads share fits into the largest block, and so does what MHA keeps of a token into
    the largest square, unless the least that a variant keeps could then not be seen. What keeps
    less than 1 in CROWD of MHA's numbers, or only a state, sets no scale.

    Args:
        variants: the tensors of each.
        most: numbers that MHA keeps of one token.
        frame: the proportions of the picture.
    """

    def __init__(self, variants: Iterable[list[Tensor]], most: int, frame: Frame) -> None:
        variants, self.frame = list(variants), frame
        every = [tensor for tensors in variants for tensor in tensors]
        cached = [sum(tensor.cached for tensor in tensors) for tensors in variants]
        width, height = frame.largest
        self._aspect = width / height
        shared = max(tensor.numbers for tensor in every if tensor.sheets == 1)
        scale = min(width * height / shared, frame.square**2 / max(most, *cached, 1))
        self.scale = max(scale, LEAST**2 / min(n for n in (*cached, most) if n * CROWD > most))
        self._most = width * height / self.scale + ROUNDING  # numbers in the largest block
        lanes = dict.fromkeys(sorted({tensor.lane for tensor in every}), 0.0)
        for tensors in variants:
            for (lane, _), stack in _stacks(tensors):
                lanes[lane] = max(lanes[lane], sum(self._across(tensor) for tensor in stack))
        names = {lane: frame.first if lane == CONTENT else frame.names for lane in lanes}
        side = min(1.0, (frame.lanes - sum(names.values())) / sum(lanes.values()))
        self.scale *= side**2
        self._middles, top = {}, 0.0
        for lane, across in lanes.items():
            self._middles[lane] = top + names[lane] + across * side / 2
            top += names[lane] + across * side
        self.height = STAGES * frame.stage if frame.tall else top

    def blocks(self, tensors: list[Tensor]) -> list[Block]:
        """Return the rectangles of one variant, in the order of its tensors."""
        found = {}
        for (lane, stage), stack in _stacks(tensors):
            sizes = [self._size(tensor) for tensor in stack]
            along = (stage + 0.5) * self.frame.stage
            across = self._middles[lane] - sum(self._pair(*size)[1] for size in sizes) / 2
            for tensor, size in zip(stack, sizes, strict=True):
                long, wide = self._pair(*size)
                x, y = self._pair(along - long / 2, across)
                found[tensor.code] = Block(tensor, x, y, *size, self._share(tensor))
                across += wide + self.frame.names
        return [found[tensor.code] for tensor in tensors]

    def _pair(self, x: float, y: float) -> tuple[float, float]:
        """Turn x and y into along and across the stages, or back."""
        return (y, x) if self.frame.tall else (x, y)

    def _share(self, tensor: Tensor) -> float:
        """Return the share of its numbers that are drawn."""
        return min(1.0, self._most / tensor.numbers)

    def _size(self, tensor: Tensor) -> tuple[float, float]:
        height = sqrt(tensor.numbers * self._share(tensor) * self.scale / self._aspect)
        return height * self._aspect, height

    def _across(self, tensor: Tensor) -> float:
        return self._pair(*self._size(tensor))[1]


def _stacks(tensors: list[Tensor]) -> Iterable[tuple[tuple[int, int], list[Tensor]]]:
    """Return the tensors by lane and stage."""

    def place(tensor: Tensor) -> tuple[int, int]:
        return tensor.lane, tensor.stage

    return ((at, list(stack)) for at, stack in groupby(sorted(tensors, key=place), place))


def curves(blocks: list[Block], frame: Frame) -> list[tuple[str, str, list[float]]]:
    """Return (from, to, [x0, y0, x1, y1]) for each input: out of one edge, in at the opposite.

    A curve runs straight until `frame.bend` before it enters; the inputs of a block enter in the
    order in which they stand, so that no two cross.
    """

    def middle(block: Block) -> float:
        return block.x + block.width / 2 if frame.tall else block.y + block.height / 2

    by_code = {block.tensor.code: block for block in blocks}
    found = []
    for block in blocks:
        inputs = sorted((by_code[code] for code in block.tensor.reads), key=middle)
        for number, source in enumerate(inputs, start=1):
            part = number / (len(inputs) + 1)
            if frame.tall:
                ends = [middle(source), source.y + source.height]
                ends += [block.x + block.width * part, block.y]
            else:
                ends = [source.x + source.width, middle(source)]
                ends += [block.x, block.y + block.height * part]
            found.append((source.tensor.code, block.tensor.code, ends))
    return found


def picture(scene: Scene, frame: Frame) -> dict[str, Any]:
    """Return the picture with every place."""
    layout = Layout(scene.every, scene.mha, frame)  # one scale and set of lanes for all variants
    blocks = layout.blocks(scene.tensors)
    shelf = layout.height + TITLE + 16 + highest(scene, layout)
    return {
        "tall": frame.tall,
        "width": frame.width,
        "height": shelf + WORDS + FACTS * frame.tall,
        "bend": frame.bend,
        "boxes": {b.tensor.code: [b.x, b.y, b.width, b.height] for b in blocks},
        "cut": {b.tensor.code: _cut(b.share) for b in blocks if b.share < 1},
        "curves": _curves(blocks, frame),
        "shelf": _shelf(scene, layout, shelf),
        "unit": unit(layout),
    }


def _cut(drawn: float) -> str:
    return t("scene.drawn", share=share(drawn))


def places(tensors: list[Tensor]) -> dict[str, str]:
    """Return by code the name of what stays one block while a variant turns into another."""
    seen: Counter[tuple[int, int]] = Counter()
    found = {}
    for one in tensors:
        at = one.stage, one.lane
        found[one.code] = " ".join(map(str, (*at, seen[at])))
        seen[at] += 1
    return found


def _curves(blocks: list[Block], frame: Frame) -> list[dict[str, Any]]:
    place = places([block.tensor for block in blocks])
    return [
        {
            "from": source,
            "to": code,
            "place": f"{place[source]} to {place[code]}",
            "role": SYMBOLS[source].role,
            "ends": ends,
        }
        for source, code, ends in curves(blocks, frame)
    ]


def _shelf(scene: Scene, layout: Layout, y: float) -> dict[str, Any]:
    """Draw what is kept of one token, and how large it would be in MHA."""
    cached = [one for one in scene.tensors if one.cached]
    kept = sum(one.cached for one in cached)
    width, height = square(layout, kept)
    return {
        "x": EDGE,
        "y": y,
        "title": layout.height + TITLE,
        "pitch": layout.frame.pitch,
        "length": layout.frame.pitch * TOKENS,
        "width": width,
        "torn": _torn(layout, kept),
        "ghost": square(layout, scene.mha),
        "ghost_torn": _torn(layout, scene.mha),
        "pieces": [
            {
                "code": one.code,
                "role": SYMBOLS[one.code].role,
                "height": height * one.cached / kept,
            }
            for one in cached
        ],
    }


def square(layout: Layout, numbers: float) -> tuple[float, float]:
    """Return width and height of so many numbers on the shelf, cut where they are too many."""
    side = min(layout.frame.square, max(DOT, sqrt(layout.scale * numbers))) if numbers else 0.0
    return side, side


def _torn(layout: Layout, numbers: float) -> bool:
    return layout.scale * numbers > layout.frame.square**2 * (1 + 1e-9)


def highest(scene: Scene, layout: Layout) -> float:
    """Return the height of the most that any variant, or MHA, keeps of one token."""
    kept = [sum(one.cached for one in tensors) for tensors in scene.every]
    return max(square(layout, numbers)[1] for numbers in (*kept, scene.mha))


def unit(layout: Layout) -> dict[str, Any]:
    """Return a round count of numbers whose square can be seen: it tells the scale."""
    least, decade = UNIT**2 / layout.scale, 1
    while True:
        for step in (1, 2, 5):
            if step * decade >= least:
                text = t("scene.unit", numbers=count(step * decade))
                return {"text": text, "side": sqrt(step * decade * layout.scale)}
        decade *= 10
