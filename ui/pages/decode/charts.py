"""The picture of the decode page: caches that grow, a block for each token."""

from collections.abc import Iterable, Sequence
from functools import partial
from math import log2
from typing import Any

from mla_engine.figures import look
from mla_engine.mechanism import KeptPart
from ui.pages.decode import tables, words
from ui.pages.decode.view import View
from ui.parts import motion
from ui.parts.motion import Dial
from ui.parts.ways import label
from ui.words.numbers import count, tied_size
from ui.words.text import t, variant_name

SECONDS = {"slow": 2.0, "normal": 1.0, "fast": 0.4}  # a step
BLOCKS = ("prompt", "old", "new")
TICKS = 0.7  # of the axis; its end has the axis's title
SHOWN = 24  # words of the sentence that are drawn, the last ones


def blocks(view: View, dial: Dial) -> None:
    """The caches after every step; the browser moves from one to the next."""
    options = {"table": partial(tables.growth, view), "file": "decode_growth.csv"}
    options |= {"seconds": SECONDS[view.speed]}
    motion.show("growing", "blocks", [dial], _growth(view), **options)


def _growth(view: View) -> dict[str, Any]:
    steps = range(1, view.room + 1)
    return {
        "rows": [_row(view, code) for code in view.ways],
        "prompt": view.prompt,
        "steps": view.room,
        "widest": view.widest_bytes,
        "strip": _strip(view, view.uneven) if view.uneven else None,
        "tick": _tick(view),
        "axis": t("decode.axis_held"),
        "text": _text(view),
        "titles": [t(f"decode.block_{kind}") for kind in BLOCKS],
        "colours": {"prompt": look(2).colour},
        "says": [words.says(view, step) for step in steps],
        "told": [words.alt(view, step) for step in steps],
    }


def _row(view: View, code: str) -> dict[str, Any]:
    """A cache over the steps: blocks as wide as `bytes`, or one block as wide as `sizes`."""
    sizes = [view.held_bytes(code, step) for step in range(1, view.room + 1)]
    row = {"name": label(view.ways, code), "colour": look(code).colour}
    row |= {"held": list(map(tied_size, sizes))}
    uneven = bool(view.parts(code, 1))
    return row | ({"sizes": sizes} if uneven else {"bytes": view.bytes_per_token(code)})


def _strip(view: View, code: str) -> dict[str, Any]:
    """Draw which tokens a cache keeps after every step, and as what."""
    every = [view.parts(code, step) for step in range(1, view.room + 1)]
    tokens = range(view.prompt + 1, view.most_tokens + 1)
    return {
        "title": t("decode.strip", name=variant_name(code)),
        "colour": look(code).colour,
        "most": view.most_tokens,
        "unit": t("decode.strip_tokens", tokens=count(view.most_tokens)),
        "lines": [_line(parts, tokens) for parts in zip(*every, strict=True)],
    }


def _line(parts: Sequence[KeptPart], tokens: Iterable[int]) -> dict[str, Any]:
    """One part after every step: from which token to which; `block` tokens make a piece of it."""
    last = parts[-1]
    ends = [_ends(part, now) for part, now in zip(parts, tokens, strict=True)]
    return {
        "kind": last.code,
        "name": t(f"decode.part_{last.code}"),
        "spans": ends,
        "block": last.spans[0][1] if len(last.spans) > 1 else 0,
        "held": [tied_size(part.n_bytes) for part in parts],
    }


def _ends(part: KeptPart, now: int) -> tuple[int, int]:
    """Its first token and the one beyond its last; where it is empty, nothing at the end."""
    return (part.spans[0][0], part.spans[-1][1]) if part.spans else (now, now)


def _text(view: View) -> dict[str, Any]:
    """The words of the sentence, and those of the steps; none where no model writes."""
    if not view.writer:
        return {"prompt": [], "written": []}
    before, written = view.words[: view.prompt], view.words[view.prompt :]
    more = ["\N{HORIZONTAL ELLIPSIS}"] if view.prompt > SHOWN else []
    return {"prompt": [*more, *before[-SHOWN:]], "written": written}


def _tick(view: View) -> dict[str, Any]:
    """One beside 0, in the unit of the texts: more run together on a phone."""
    tick = 2.0 ** int(log2(TICKS * view.widest_bytes))
    return {"at": tick, "text": tied_size(tick)}
