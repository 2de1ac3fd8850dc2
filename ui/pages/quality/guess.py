"""What the page quality asks: the curves over the cache, drawn before the measured ones appear."""

from collections.abc import Sequence

from ui.pages.quality import names, words
from ui.pages.quality.view import PAIR, View
from ui.parts.guess.question import Dot, Guess, choice, drawn
from ui.words.numbers import count
from ui.words.text import listed, t

CHART = "quality:cache"
LOWER = ("quality:load", "quality:distance", "quality:loss", "quality:staircase")
HIDES = ("lead", "quality_verdict", *LOWER)
GIVEN = "mha"
CURVES = (GIVEN, "gqa", "mqa"), ("mla_64", "mla", "mla_16")


def question(view: View) -> Guess | None:
    """Which of MQA and MLA loses more, as curves from MHA on; None where they were not run."""
    if not view.compared:
        return None
    lines = [[code for code in curve if code in view.caches] for curve in CURVES]
    free = [code for line in lines for code in line if code != GIVEN]
    found = {code: words.share(view.accuracy(code)) for code in PAIR}
    drew = {code: f"{{{free.index(code)}}}" for code in PAIR}
    return drawn(
        "quality",
        t("quality.guess", cached=count(view.cached(PAIR[0]))),
        [_dots(view, line) for line in lines],
        true=listed(f"{names.variant(view, code)} {share}" for code, share in found.items()),
        told=t("quality.drew", **drew, **{f"{code}_found": found[code] for code in PAIR}),
        why=words.verdict(view),
        over=CHART,
        of_all=_of_all(view),
        hides=HIDES,
    )


def _of_all(view: View) -> Guess:
    """Which of the two a class expects to lose more: whom the verdict names, or neither."""
    said = {code: names.variant(view, code) for code in PAIR}
    said[None] = t("quality.guess_neither")
    return choice(
        "quality",
        t("quality.guess_which", cached=count(view.cached(PAIR[0])), where=words.where(view)),
        list(said.values()),
        list(said).index(view.loser()),
        why=words.verdict(view),
        hides=(CHART, *HIDES),
    )


def _dots(view: View, codes: Sequence[str]) -> list[Dot]:
    return [
        Dot(
            names.variant(view, code),
            names.family(code),
            [c for c in view.caches if names.family(c) == names.family(code)].index(code),
            100 * view.accuracy(code).mean,
            given=code == GIVEN,
        )
        for code in codes
    ]
