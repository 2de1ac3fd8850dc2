"""What the page quality asks: the curves over the cache, drawn before the measured ones appear."""

from collections.abc import Sequence

from ui.pages.quality import names, words
from ui.pages.quality.view import PAIR, View
from ui.parts.guess.question import Dot, Guess, drawn
from ui.words.numbers import count
from ui.words.text import listed, t

LOWER = ("quality:load", "quality:distance", "quality:loss", "quality:staircase")
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
        over="quality:cache",
        hides=("lead", "quality_verdict", *LOWER),
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
