"""The findings on the two variants with caches of one size, on all sizes, and a question."""

from collections.abc import Sequence

from mla_engine.language_model.study import LEAST_SEEDS, Spread
from ui.pages.quality import names
from ui.pages.quality.curves import CHART
from ui.pages.quality.view import EVERY_LOAD, PAIR, View
from ui.parts.questions import Dot, Question, choice, curves
from ui.words.numbers import count, digits, error_percent
from ui.words.text import listed, t

BELOW_IT = ("quality:load", "quality:distance", "quality:loss", "quality:staircase")
HIDES = (
    "lead",
    "quality_below",
    "quality_verdict",
    *BELOW_IT,
)  # what tells the answer of the question
GIVEN = "mha"  # the point from which on its curves are drawn
CURVES = (GIVEN, "gqa", "mqa"), ("mla_64", "mla", "mla_16")


def lead(view: View) -> tuple[str, str]:
    """Return the answers that MLA gives, beside those of MQA and MHA; else how much was run."""
    if not view.compared:
        done, planned = runs(view)
        return t("common.out_of", n=done, all=planned), t("quality.line_none", n=done, all=planned)
    mqa, mla = (view.accuracy(code).mean for code in PAIR)
    line = t(
        "quality.line",
        where=_where(view),
        cached=count(view.cached("mla")),
        all=count(view.cached("mha")),
        mqa=error_percent(mqa),
        mha=error_percent(view.accuracy("mha").mean),
        found=_found(view),
    )
    return error_percent(mla), line


def runs(view: View) -> tuple[str, str]:
    """Return how many runs of the plan are done, and how many there are."""
    planned = sum(one.seeds for one in view.study.plan.variants.values())
    return count(planned - sum(map(len, view.study.not_run().values()))), count(planned)


def _where(view: View) -> str:
    """Return which answers are counted."""
    task, load = view.chosen.task, view.chosen.load
    each = "one" if view.one_task else "all"
    loads = "every" if load == EVERY_LOAD else "load"
    facts = {"task": t(f"quality.task_{task}"), "load": count(load)}
    return t(f"quality.where_{each}_{loads}", **facts)


def _found(view: View) -> str:
    """Return whether one of the pair is ahead, in a few words."""
    least = min(view.accuracy(code).seeds for code in PAIR)
    if least < LEAST_SEEDS:
        return t("quality.found_few")
    loser = view.loser()
    if loser is None:
        return t("quality.found_null")
    (winner,) = set(PAIR) - {loser}
    return t("quality.found_clear", better=names.family(winner), worse=names.family(loser))


def verdict(view: View, pair: tuple[str, str] = PAIR) -> str:
    """Return whether two variants differ beyond their seeds, with the numbers."""
    one, other = (view.accuracy(code) for code in pair)
    facts = dict(zip(("one", "other"), (names.variant(view, code) for code in pair), strict=True))
    if not one or not other:
        return t("quality.verdict_none", **facts)
    facts |= {"one_range": _range(one), "other_range": _range(other)}
    if min(one.seeds, other.seeds) < LEAST_SEEDS:
        return t("quality.verdict_few", **facts, least=count(LEAST_SEEDS))
    loser = view.loser(pair)
    if loser is None:
        return t("quality.verdict_null", **facts)
    better, worse = (other, one) if loser == pair[0] else (one, other)
    winner = pair[1] if loser == pair[0] else pair[0]
    return t(
        "quality.verdict_clear",
        better=names.variant(view, winner),
        worse=names.variant(view, loser),
        better_range=_range(better),
        worse_range=_range(worse),
    )


def _range(spread: Spread) -> str:
    return names.from_to(error_percent(spread.least), error_percent(spread.most))


def below(view: View) -> str:
    """Return which smaller caches answer less than MHA in every seed."""
    smaller = [code for code in view.caches if code != "mha"]
    seeds = [view.accuracy(code).seeds for code in (*smaller, "mha") if view.accuracy(code)]
    if min(seeds, default=0) < LEAST_SEEDS:
        return ""
    lost = [code for code in smaller if view.loser(("mha", code)) == code]
    which = listed(names.variant(view, code) for code in lost)
    return t("quality.below" if lost else "quality.below_none", which=which)


def caveat(view: View) -> str:
    """Return what these models are, how they came about, and that they speak for no others."""
    rows = view.study.rows
    if not rows:
        return t("quality.caveat_none")
    weights = sorted({digits(row.parameters / 1000, 2) for row in rows}, key=float)
    steps = sorted({row.steps for row in rows})
    return t(
        "quality.caveat",
        weights=names.from_to(weights[0], weights[-1]),
        command=listed(sorted({row.command for row in rows})),
        torch=listed(sorted({row.torch for row in rows})),
        python=listed(sorted({row.python for row in rows})),
        seeds=listed(map(count, sorted({row.seed for row in rows}))),
        date=listed(sorted({row.date for row in rows})),
        texts=listed(map(count, sorted({row.texts for row in rows}))),
        steps=names.from_to(count(steps[0]), count(steps[-1])),
    )


def question(view: View) -> Question | None:
    """Ask for the curves from MHA on, whether MQA or MLA loses more; None where none were run."""
    if not view.compared:
        return None
    lines = [[code for code in curve if code in view.caches] for curve in CURVES]
    free = [code for line in lines for code in line if code != GIVEN]
    found = {f"{code}_found": names.share(view.accuracy(code)) for code in PAIR}
    drew = {code: f"{{{free.index(code)}}}" for code in PAIR}
    return curves(
        "quality",
        t("quality.guess", cached=count(view.cached(PAIR[0]))),
        [_dots(view, line) for line in lines],
        true=names.each(view, PAIR),
        told=t("quality.drew", **drew, **found),
        why=verdict(view),
        over=CHART,
        of_class=_of_class(view),
        hides=HIDES,
    )


def _of_class(view: View) -> Question:
    """Ask a class which of the two loses more: the one that the verdict names, or neither."""
    said = {code: names.variant(view, code) for code in PAIR}
    said[None] = t("quality.guess_neither")
    return choice(
        "quality",
        t("quality.guess_which", cached=count(view.cached(PAIR[0])), where=_where(view)),
        list(said.values()),
        list(said).index(view.loser()),
        why=verdict(view),
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
