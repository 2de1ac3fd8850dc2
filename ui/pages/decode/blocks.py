"""The picture of the decode page: caches that grow, a block for each token, and how it moves."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import log2
from typing import Any

import pandas as pd

from mla_engine.figures import look
from ui.pages.decode import uneven
from ui.pages.decode.view import FIRST, View, room
from ui.parts import motion
from ui.parts.control import control
from ui.parts.motion import Dial
from ui.parts.ways import label, listed
from ui.sources.model import Model
from ui.words.numbers import count, tied_size
from ui.words.text import sentences, t

SECONDS = {"slow": 2.0, "normal": 1.0, "fast": 0.4}  # a step
BLOCKS = ("prompt", "old", "new")
TICKS = 0.7  # of the axis; its end has the axis's title
SHOWN = 24  # words of the sentence that are drawn, the last ones


def dial(model: Model) -> Dial:
    """Return what moves the step, as far as there are tokens."""
    last = room(model)
    return Dial("dec_step", t("decode.step", of=last), range(1, last + 1))


def controls() -> None:
    """Draw the choice of what is drawn and how fast it plays."""
    control("dec_ways")
    control("dec_speed")


def draw(view: View) -> None:
    """Draw the caches after every step; the browser moves from one to the next."""
    steps = range(1, view.room + 1)
    held = {code: [view.held_bytes(code, step) for step in steps] for code in view.drawn}
    motion.show(
        "growing",
        "blocks",
        [dial(view.model)],
        _growth(view, held),
        table=partial(pd.DataFrame, {"step": steps, **held}),
        file="decode_growth.csv",
        seconds=SECONDS[view.chosen.speed],
    )


def _growth(view: View, held: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the numbers and words of the picture, from the bytes held after every step."""
    steps = range(1, view.room + 1)
    widest = max(sizes[-1] for sizes in held.values())
    tick = 2.0 ** int(log2(TICKS * widest))  # one beside 0: more run together on a phone
    return {
        "rows": [_row(view, code, sizes) for code, sizes in held.items()],
        "prompt": view.prompt,
        "steps": view.room,
        "widest": widest,
        "strip": uneven.strip(view) if view.uneven else None,
        "tick": {"at": tick, "text": tied_size(tick)},
        "axis": t("decode.axis_held"),
        "text": _text(view),
        "titles": [t(f"decode.block_{kind}") for kind in BLOCKS],
        "colours": {"prompt": look(2).colour},
        "says": [_says(view, step) for step in steps],
        "told": [_alt(view, step, held) for step in steps],
    }


def _row(view: View, code: str, sizes: Sequence[float]) -> dict[str, Any]:
    """Return a cache over the steps: blocks as wide as `bytes`, or one as wide as `sizes`."""
    row = {"name": label(view.ways, code), "colour": look(code).colour}
    row |= {"held": list(map(tied_size, sizes)), "heads": _heads(view, code)}
    whole = bool(view.parts(code, 1))
    return row | ({"sizes": sizes} if whole else {"bytes": view.bytes_per_token(code)})


def _heads(view: View, code: str) -> str:
    """Return how many heads have keys and values of their own there; empty after MLA."""
    if code not in FIRST:
        return ""
    config = view.ways[code].config
    n = config.n_heads if code == "mla_absorbed" else config.n_kv_heads
    return t("decode.one_head" if n == 1 else "decode.heads_of", n=count(n))


def _text(view: View) -> dict[str, Any]:
    """Return the words of the sentence, and of the steps; none without a text."""
    if not (view.writer or view.text):
        return {"prompt": [], "written": []}
    before, written = view.words[: view.prompt], view.words[view.prompt :]
    more = ["\N{HORIZONTAL ELLIPSIS}"] if view.prompt > SHOWN else []
    return {"prompt": [*more, *before[-SHOWN:]], "written": written}


def _says(view: View, step: int) -> str:
    """Return how far the decoding is after a step."""
    values = {"step": count(step), "tokens": count(view.prompt + step)}
    if view.writer or view.text:
        key = "decode.says_word" if view.writer else "decode.says_read"
        return t(key, word=view.words[view.prompt + step - 1], **values)
    return t("decode.says", **values)


def _alt(view: View, step: int, held: Mapping[str, Sequence[float]]) -> str:
    """Return the blocks after a step in words."""
    tokens = view.prompt + step
    each = {code: tied_size(sizes[step - 1]) for code, sizes in held.items()}
    values = {"tokens": count(tokens), "held": listed(view.ways, each)}
    if view.writer and not view.uneven:
        return t("decode.alt_words", text=" ".join(view.words[:tokens]), **values)
    if view.text and not view.uneven:
        return t("decode.alt_read", text=" ".join(view.words[:tokens]), **values)
    said = t("decode.alt", **values)
    return sentences((said, uneven.alt(view, step))) if view.uneven else said
