"""What the page quality says, with its numbers."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from mla_engine.language_model.study import LEAST_SEEDS, Spread, differ
from ui.pages.quality import names
from ui.pages.quality.settings import EVERY_LOAD
from ui.pages.quality.view import PAIR, ROTATED, View, loads
from ui.words.numbers import count, digits, error_percent, points
from ui.words.text import listed, t


def lead(view: View) -> tuple[str, str]:
    """The answers that MLA gives, beside those of MQA and MHA; else how much was run."""
    if not view.compared:
        done, planned = _runs(view)
        return t("common.out_of", n=done, all=planned), t("quality.line_none", n=done, all=planned)
    mqa, mla = (view.accuracy(code).mean for code in PAIR)
    line = t(
        "quality.line",
        where=where(view),
        cached=count(view.cached("mla")),
        all=count(view.cached("mha")),
        mqa=error_percent(mqa),
        mha=error_percent(view.accuracy("mha").mean),
        found=_found(view),
    )
    return error_percent(mla), line


def _found(view: View) -> str:
    """Whether one of the pair is ahead, in a few words."""
    least = min(view.accuracy(code).seeds for code in PAIR)
    if least < LEAST_SEEDS:
        return t("quality.found_few")
    loser = view.loser()
    if loser is None:
        return t("quality.found_null")
    (winner,) = set(PAIR) - {loser}
    return t("quality.found_clear", better=names.family(winner), worse=names.family(loser))


def where(view: View) -> str:
    """Which answers are counted."""
    each = "one" if view.one_task else "all"
    loads = "every" if view.load == EVERY_LOAD else "load"
    facts = {"task": t(f"quality.task_{view.task}"), "load": count(view.load)}
    return t(f"quality.where_{each}_{loads}", **facts)


def share(spread: Spread | None) -> str:
    """A mean as a percentage, or that it was not run."""
    return error_percent(spread.mean) if spread else t("quality.not_run")


def verdict(view: View, pair: tuple[str, str] = PAIR) -> str:
    """Whether two variants differ beyond their seeds, in one sentence with the numbers."""
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


def findings(view: View) -> str:
    """What the runs say: of the two at one size, and of all sizes."""
    return " ".join(filter(None, (verdict(view), _below(view))))


def _below(view: View) -> str:
    """Which smaller caches answer less than MHA in every seed."""
    smaller = [code for code in view.caches if code != "mha"]
    seeds = [view.accuracy(code).seeds for code in (*smaller, "mha") if view.accuracy(code)]
    if min(seeds, default=0) < LEAST_SEEDS:
        return ""
    lost = [code for code in smaller if view.loser(("mha", code)) == code]
    which = listed(names.variant(view, code) for code in lost)
    return t("quality.below" if lost else "quality.below_none", which=which)


def rotated(view: View) -> str:
    """What rotating half of the dimensions does, in this small setting."""
    return t("quality.rotated", verdict=verdict(view, ROTATED))


def caveat(view: View) -> str:
    """What these models are, how they came about, and that they speak for no others."""
    rows = view.study.rows
    if not rows:
        return t("quality.caveat_none")
    weights = sorted({digits(row.parameters / 1000, 2) for row in rows}, key=float)
    steps = sorted({row.steps for row in rows})
    return t(
        "quality.caveat",
        weights=_from_to(weights[0], weights[-1]),
        command=listed(sorted({row.command for row in rows})),
        torch=listed(sorted({row.torch for row in rows})),
        python=listed(sorted({row.python for row in rows})),
        seeds=listed(map(count, sorted({row.seed for row in rows}))),
        date=listed(sorted({row.date for row in rows})),
        texts=listed(map(count, sorted({row.texts for row in rows}))),
        steps=_from_to(count(steps[0]), count(steps[-1])),
    )


def runs(view: View) -> str:
    """How many of the planned runs are done."""
    done, planned = _runs(view)
    return t("quality.runs_all" if done == planned else "quality.runs", n=done, all=planned)


def anew(view: View) -> str:
    """How many runs had more than one beginning, which favours recall."""
    again = [row.attempts for row in view.study.rows if row.attempts > 1]
    return t("quality.anew", n=count(len(again)), most=count(max(again))) if again else ""


def _runs(view: View) -> tuple[str, str]:
    """Of the plan: those done, and all."""
    planned = sum(one.seeds for one in view.study.plan.variants.values())
    return count(planned - sum(map(len, view.study.not_run().values()))), count(planned)


def step(view: View, code: str) -> str:
    """What a step of the staircase changes, in Plotly's text."""
    return t("quality.step", change=t(f"quality.change_{code}"), cached=count(view.cached(code)))


def changes(view: View) -> str:
    """Which steps of the staircase move every seed, and which lie within their spread."""
    every, within = [], []
    for before, after in pairwise(view.study.plan.staircase):
        one, other = (view.accuracy(code) for code in (before, after))
        if one and other and min(one.seeds, other.seeds) >= LEAST_SEEDS:
            moved = differ(one, other)
            facts = {
                "change": t(f"quality.change_{after}"),
                "points": points(other.mean - one.mean),
            }
            (every if moved else within).append(t("quality.change", **facts))
    if not every and not within:
        return t("quality.changes_few", least=count(LEAST_SEEDS))
    said = {"every": every, "within": within}
    return " ".join(t(f"quality.changes_{n}", which=listed(w)) for n, w in said.items() if w)


def alt_cache(view: View) -> str:
    """The answers of every variant in words."""
    return t("quality.alt_cache", each=_each(view, view.caches))


def alt_load(view: View) -> str:
    """The answers at the lightest and the heaviest load."""
    first, last = loads(view.task)[0], loads(view.task)[-1]
    said = [
        t(
            "quality.from_to",
            name=names.variant(view, code),
            first=share(view.accuracy_at(code, first)),
            last=share(view.accuracy_at(code, last)),
        )
        for code in view.caches
    ]
    return t("quality.alt_load", each=listed(said), first=count(first), last=count(last))


def alt_distance(view: View) -> str:
    """Recall of the nearest and the furthest pairs."""
    return t("quality.alt_distance", each=listed(_ends(view, view.study.by_distance, share)))


def alt_loss(view: View) -> str:
    """The loss at the first and the last step that all seeds took."""
    each = _ends(view, view.study.loss, lambda spread: digits(spread.mean, 2))
    return t("quality.alt_loss", each=listed(each))


def alt_staircase(view: View) -> str:
    """The answers of every step."""
    return t("quality.alt_staircase", each=_each(view, view.study.plan.staircase))


def _ends(
    view: View, of: Callable[[str], Mapping[int, Spread]], say: Callable[[Spread], str]
) -> Iterable[str]:
    for code in view.caches:
        found = list(of(code).values())
        if found:
            first, last = say(found[0]), say(found[-1])
            name = names.variant(view, code)
            yield t("quality.from_to", name=name, first=first, last=last)


def _each(view: View, codes: Iterable[str]) -> str:
    said = (f"{names.variant(view, code)} {share(view.accuracy(code))}" for code in codes)
    return listed(said)


def _range(spread: Spread) -> str:
    return _from_to(error_percent(spread.least), error_percent(spread.most))


def _from_to(least: str, most: str) -> str:
    return least if least == most else t("quality.range", least=least, most=most)
