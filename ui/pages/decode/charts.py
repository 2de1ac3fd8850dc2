"""The picture of the decode page: caches that grow, a block for each token."""

from functools import partial
from math import log2
from typing import Any

from mla_engine.figures import look
from ui.pages.decode import tables, words
from ui.pages.decode.view import View
from ui.parts import motion
from ui.parts.motion import Dial
from ui.parts.ways import label
from ui.words.numbers import tied_size
from ui.words.text import t

SECONDS = {"slow": 2.0, "normal": 1.0, "fast": 0.4}  # a step
BLOCKS = ("prompt", "old", "new")
SHOWN = 24  # words of the sentence that are drawn, the last ones


def blocks(view: View, dial: Dial) -> None:
    """The caches after every step; the browser moves from one to the next."""
    options = {"table": partial(tables.growth, view), "file": "decode_growth.csv"}
    options |= {"seconds": SECONDS[view.speed]}
    motion.show("growing", "blocks", [dial], _growth(view), **options)


def _growth(view: View) -> dict[str, Any]:
    steps = range(1, view.room + 1)
    return {
        "rows": [
            {
                "name": label(view.ways, code),
                "bytes": view.bytes_per_token(code),
                "colour": look(code).colour,
                "held": [tied_size(view.held_bytes(code, step)) for step in steps],
            }
            for code in view.ways
        ],
        "prompt": view.prompt,
        "steps": view.room,
        "most": view.most_tokens,
        "tick": _tick(view),
        "axis": t("decode.axis_held"),
        "text": _text(view),
        "titles": [t(f"decode.block_{kind}") for kind in BLOCKS],
        "colours": {"prompt": look(2).colour},
        "says": [words.says(view, step) for step in steps],
        "told": [words.alt(view, step) for step in steps],
    }


def _text(view: View) -> dict[str, Any]:
    """The words of the sentence, and those of the steps; none where no model writes."""
    if not view.writer:
        return {"prompt": [], "written": []}
    before, written = view.words[: view.prompt], view.words[view.prompt :]
    more = ["\N{HORIZONTAL ELLIPSIS}"] if view.prompt > SHOWN else []
    return {"prompt": [*more, *before[-SHOWN:]], "written": written}


def _tick(view: View) -> dict[str, Any]:
    """One beside 0, in the unit of the texts: more run together on a phone."""
    widest = view.most_tokens * max(map(view.bytes_per_token, view.ways))
    tick = 2.0 ** int(log2(widest))
    return {"at": tick, "text": tied_size(tick)}
