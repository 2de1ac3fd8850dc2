"""What the page quality asks: which of two caches of one size loses more answers."""

from ui.pages.quality import names, words
from ui.pages.quality.view import PAIR, View
from ui.parts.guess.question import Guess, choice
from ui.words.numbers import count
from ui.words.text import t

LOWER = ("quality:load", "quality:distance", "quality:loss", "quality:staircase")


def question(view: View) -> Guess | None:
    """MQA, MLA or neither clearly; None where they were not run."""
    if not view.compared:
        return None
    loser = view.loser()
    return choice(
        "quality",
        t(
            "quality.guess",
            task=t(f"quality.task_{view.task}"),
            load=count(view.load),
            cached=count(view.cached(PAIR[0])),
        ),
        [*map(names.family, PAIR), t("quality.neither")],
        len(PAIR) if loser is None else PAIR.index(loser),
        why=words.verdict(view),
        hides=("lead", "quality:cache", "quality_verdict", *LOWER),
    )
