"""Where each tensor stands in the scene and how large: its area is the count of its numbers.

All variants of a model share one scale, one set of lanes and one set of stages, so that one of them
turns into another before the reader's eyes. Coordinates are those of a picture `WIDTH` wide.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import prod, sqrt

from mla_engine import SYMBOLS
from mla_engine.symbols import sources

WIDTH = 960
HEIGHT = 470  # of the lanes; the shelf stands below
STAGE = WIDTH // 8
WIDEST = 92  # a block, so that curves can bend between two
ASPECT = 1.3  # width by height
LABEL = 34  # of room above a block for its name
MARGIN = 12
BEND = 28  # of a curve's length, before it enters a block

CONTENT, ROTARY_QUERY, ROTARY, LATENT, KEY, VALUE = range(6)  # the lanes, from top to bottom
INPUT, LATENTS, HEADS, MOVED, ATTENTION, POOLED, OUTPUT, LAST = range(8)  # the stages

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Tensor:
    """One tensor of the scene: what it reads, and its place."""

    code: str
    shape: tuple[int, ...]
    reads: tuple[str, ...]
    stage: int
    lane: int

    @property
    def numbers(self) -> int:
        """How many it holds."""
        return prod(self.shape)

    @property
    def sheets(self) -> int:
        """Its heads or KV heads; 1 if it has none."""
        axes = SYMBOLS[self.code].axes.split()
        return next((n for n, axis in zip(self.shape, axes, strict=True) if axis in "hg"), 1)


@dataclass(frozen=True)
class Block:
    """A tensor's rectangle; x and y are those of its upper left corner."""

    tensor: Tensor
    x: float
    y: float
    width: float
    height: float


def tensors(form: str, shapes: Shapes) -> list[Tensor]:
    """The tensors that are shown of a run, in the order of computation.

    What only prepares another one (before a norm or a rotation, and the scores before the softmax)
    is left out, and what reads it is taken to read what it was made from.

    Args:
        form: "expanded", "absorbed", "grouped", ..., as SYMBOLS names it.
        shapes: of every step of the trace.
    """
    found: dict[str, Tensor] = {}
    for code, shape in shapes.items():
        if _shown(code):
            reads = tuple(_reads(code, form, shapes))
            stage = _stage(code, [found[name] for name in reads])
            found[code] = Tensor(code, shape, reads, stage, _lane(code, stage))
    return list(found.values())


def _shown(code: str) -> bool:
    return not code.endswith("_pre") and (SYMBOLS[code].role != "score" or code == "attention")


def _reads(code: str, form: str, shapes: Shapes) -> Iterable[str]:
    for name in sources(code, form, shapes):
        yield from (name,) if _shown(name) else _reads(name, form, shapes)


def _of_query(code: str) -> bool:
    return "q" in code.lower()


def _stage(code: str, reads: list[Tensor]) -> int:
    role, last = SYMBOLS[code].role, max((tensor.stage for tensor in reads), default=-1)
    if last < INPUT:
        return INPUT
    if role == "score":
        return ATTENTION
    if last >= ATTENTION:
        return POOLED if role == "latent" else OUTPUT if last < OUTPUT else LAST
    if role in ("key", "value") or (_of_query(code) and role != "latent"):
        return MOVED if _of_query(code) and last == HEADS else HEADS
    return LATENTS


def _lane(code: str, stage: int) -> int:
    role = SYMBOLS[code].role
    if role == "rope":
        return ROTARY_QUERY if _of_query(code) else ROTARY
    if role == "latent" and stage == LATENTS and not _of_query(code):
        return LATENT
    return {"key": KEY, "value": VALUE}.get(role, CONTENT)


class Layout:
    """The common scale and lanes of several variants of one model.

    Args:
        variants: the tensors of each.
    """

    def __init__(self, variants: Iterable[list[Tensor]]) -> None:
        variants = list(variants)
        every = [tensor for tensors in variants for tensor in tensors]
        heights = dict.fromkeys(sorted({tensor.lane for tensor in every}), 0.0)
        for tensors in variants:
            for (lane, _), stack in _stacks(tensors):
                heights[lane] = max(heights[lane], sum(_side(t) for t in stack))
        room = HEIGHT - len(heights) * LABEL - MARGIN
        widest = max(_side(tensor) for tensor in every) * ASPECT
        side = min(room / sum(heights.values()), WIDEST / widest)
        self.scale = side**2  # square units of the picture a number
        self._middles, top = {}, 0.0
        for lane, height in heights.items():
            self._middles[lane] = top + LABEL + height * side / 2
            top += LABEL + height * side
        self.height = top + MARGIN

    def blocks(self, tensors: list[Tensor]) -> list[Block]:
        """The rectangles of one variant, in the order of its tensors."""
        found = {}
        for (lane, stage), stack in _stacks(tensors):
            sizes = [self._size(tensor) for tensor in stack]
            y = self._middles[lane] - sum(height for _, height in sizes) / 2
            for tensor, (width, height) in zip(stack, sizes, strict=True):
                x = stage * STAGE + (STAGE - width) / 2
                found[tensor.code] = Block(tensor, x, y, width, height)
                y += height + LABEL
        return [found[tensor.code] for tensor in tensors]

    def _size(self, tensor: Tensor) -> tuple[float, float]:
        height = _side(tensor) * sqrt(self.scale)
        return height * ASPECT, height


def _side(tensor: Tensor) -> float:
    """The height of its rectangle where a number takes one square unit."""
    return sqrt(tensor.numbers / ASPECT)


def _stacks(tensors: list[Tensor]) -> Iterable[tuple[tuple[int, int], list[Tensor]]]:
    """The tensors by lane and stage."""

    def place(tensor: Tensor) -> tuple[int, int]:
        return tensor.lane, tensor.stage

    return ((at, list(stack)) for at, stack in groupby(sorted(tensors, key=place), place))


def curves(blocks: list[Block]) -> list[tuple[str, str, list[float]]]:
    """(from, to, [x0, y0, x1, y1]) for each input: out of the right edge, in at the left edge.

    A curve stays level until `BEND` before it enters; the inputs of a block enter in the order in
    which they stand, so that no two cross.
    """
    by_code = {block.tensor.code: block for block in blocks}
    found = []
    for block in blocks:
        sources = sorted((by_code[code] for code in block.tensor.reads), key=_middle)
        for number, source in enumerate(sources, start=1):
            y = block.y + block.height * number / (len(sources) + 1)
            ends = [source.x + source.width, _middle(source), block.x, y]
            found.append((source.tensor.code, block.tensor.code, ends))
    return found


def _middle(block: Block) -> float:
    return block.y + block.height / 2
