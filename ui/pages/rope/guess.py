"""What the page on rotations asks: how slow the slowest pair is, or how much distance changes."""

import math

from ui.pages.rope import run
from ui.pages.rope.view import View
from ui.parts.questions import Question, decades, evenly, tokens
from ui.words.numbers import count, digits, shortest
from ui.words.text import t


def question(view: View) -> Question | None:
    """Return the question on the topic, if it has one."""
    ask = {"turning": _slowest, "merged": _change}.get(view.topic)
    return ask(view) if ask else None


def _slowest(view: View) -> Question:
    """After how many tokens the last pair has turned once."""
    angles = run.frequencies(view.head.rope, view.head.config.d_rope).after
    fastest, slowest = (2 * math.pi / float(angles[pair]) for pair in (0, -1))
    last = view.head.pairs - 1
    return decades(
        "rope_turning",
        t("rope.guess_turning", first=digits(fastest), last=last),
        slowest,
        (1, 10**6),
        say=lambda n: tokens(count(float(shortest(n, 3)))),
        why=t("rope.guess_turning_why"),
    )


def _change(view: View) -> Question | None:
    """How far off the merged matrix is at the chosen distance."""
    if not view.distance:
        return None
    return evenly(
        "rope_merged",
        t("rope.guess_merged", distance=view.distance),
        100 * float(view.found.change[view.distance]),
        200,
        say=lambda n: t("common.percent", value=count(n)),
        why=t("rope.guess_merged_why"),
        hides=("lead",),
    )
