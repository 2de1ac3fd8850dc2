"""One picture of the scene, wide or tall: where everything stands in it, as plain numbers."""

from collections import Counter
from math import sqrt
from typing import Any

from mla_engine import SYMBOLS
from ui.parts.scene.layout import DOT, Block, Frame, Layout, curves
from ui.parts.scene.scene import TOKENS, Scene
from ui.parts.scene.tensors import Tensor
from ui.words.numbers import count, share
from ui.words.text import t

EDGE = 16  # left of the shelf
TITLE = 46  # from the lanes to the words over the shelf
WORDS = 44  # below the shelf: the tokens, in two rows where they stand close
FACTS = 110  # below the words, where the picture is tall: how many are kept
UNIT = 16  # the least side of the square that tells the scale


def picture(scene: Scene, frame: Frame) -> dict[str, Any]:
    """Return the picture with every place."""
    layout = scene.layout(frame)
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
    """By code: the name of what stays the same block while one variant turns into another."""
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
    """Width and height of so many numbers on the shelf, cut where they are too many."""
    side = min(layout.frame.square, max(DOT, sqrt(layout.scale * numbers))) if numbers else 0.0
    return side, side


def _torn(layout: Layout, numbers: float) -> bool:
    return layout.scale * numbers > layout.frame.square**2 * (1 + 1e-9)


def highest(scene: Scene, layout: Layout) -> float:
    """Return the height of the most that any variant, or MHA, keeps of one token."""
    kept = [sum(one.cached for one in tensors) for tensors in scene.every]
    return max(square(layout, numbers)[1] for numbers in (*kept, scene.mha))


def unit(layout: Layout) -> dict[str, Any]:
    """A round count of numbers whose square can be seen: it tells the scale."""
    least, decade = UNIT**2 / layout.scale, 1
    while True:
        for step in (1, 2, 5):
            if step * decade >= least:
                text = t("scene.unit", numbers=count(step * decade))
                return {"text": text, "side": sqrt(step * decade * layout.scale)}
        decade *= 10
