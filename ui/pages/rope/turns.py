"""One pair in its plane: the browser turns it, and gives every two positions their score."""

from functools import partial
from typing import Any

import numpy as np

from ui.pages.rope import run
from ui.pages.rope.view import View
from ui.parts import motion, prose, weights
from ui.parts.figure_words import map_words
from ui.parts.motion import Dial
from ui.parts.tables import named
from ui.words.numbers import digits, signed
from ui.words.text import t

CLICKABLE = "rope_scores"  # the map whose cells choose two positions
SECONDS = 1.0  # a position
FILLED = ("t", "i", "distance", "score")  # in the browser


def dials() -> list[Dial]:
    """The position of the query, which plays, and that of the key."""
    positions = range(run.POSITIONS)
    return [Dial(f"rope_{of}", t(f"rope.{of}_position"), positions) for of in ("query", "key")]


def plane(view: View) -> None:
    """The pair as two arrows, and below it what moves them."""
    shown = view.found
    caption = t("rope.plane_caption", pair=view.pair, angle=digits(shown.angle))
    prose.say(caption + weights.mark(view.head.origin))
    numbers = np.concatenate((shown.query, shown.key), axis=1)
    columns = [f"{name}_{d}" for name in ("query", "key") for d in shown.dimensions]
    table = partial(named, numbers, range(run.POSITIONS), columns)
    options = {"table": table, "file": "rope_plane.csv", "seconds": SECONDS}
    motion.show("turning", "chart:rope_plane", dials(), _turns(view), **options)


def _turns(view: View) -> dict[str, Any]:
    """The pair at all positions, and the score at every two of them."""
    shown, words = view.found, map_words()
    places = {name: f"{{{name}}}" for name in FILLED}
    return {
        "query": shown.query.tolist(),
        "key": shown.key.tolist(),
        "scores": [[signed(float(score)) for score in row] for row in shown.scores],
        "axes": [motion.parts(f"x_{dimension}") for dimension in shown.dimensions],
        "words": {role: words[role] for role in ("query", "key")},
        "map": CLICKABLE,
        "says": t("rope.says", **places),
        "told": t("rope.plane_alt", pair=view.pair, **places),
    }
