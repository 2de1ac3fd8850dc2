"""Right answers before and after a cut: what is taken away, and what breaks without it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from mla_engine import figures
from mla_engine.language_model.questions import SPARED, verdict
from ui.pages.trained_heads import run
from ui.pages.trained_heads.run import Cut, ModelFile
from ui.pages.trained_heads.view import Side, View, task, variant
from ui.parts import charts, prose
from ui.parts.control import control
from ui.settings.parsers import Setting, one_of, whole
from ui.words.numbers import count, in_percent
from ui.words.text import listed, parted, sentences, t

CUTS = ("head", "namesakes", "content", "rotary", "rank", "keys")
MOST_KEYS = 8
SETTINGS = {
    "th_cut": Setting("head", one_of(*CUTS), "segmented_control"),
    "th_rank": Setting(4, whole(1, 4096), "slider", recorded=(4, 8, 12, 16, 20, 24)),
    "th_keys": Setting(2, whole(1, 64), "slider", recorded=(1, 2, 4, 8)),
}
BARS, BARS_OF_TWO = 340, 520  # pixels high
LOOKS = {"mla": "mla_absorbed", "mla_nope": "mla_kv"}  # of variants that the table of looks splits
ONE_MODEL = (0, 1)  # the looks of one model, whole and cut


def lead(view: View) -> tuple[str, str]:
    """Return the statement on top: what is left of a task."""
    own = told(view)
    before, after = map(in_percent, view.changes[own])
    line = t("trained_heads.line", task=task(own), without=_without(view), before=before)
    return after, line


def told(side: Side) -> str:
    """Return the task of the number on top: the heads' own, or the one that loses most."""
    return side.task or _hit(side)


def _hit(side: Side) -> str:
    """Return the task that loses most."""
    changes = side.changes
    return min(changes, key=lambda code: changes[code].after - changes[code].before)


def controls(view: View) -> None:
    """Draw the choice of what is taken away."""
    control("th_cut", shown=view.cut.kind, options=view.cuts)
    if view.cut.kind == "rank":
        label = t("trained_heads.rank", most=count(view.most_rank))
        control("th_rank", label=label, shown=view.cut.rank, most=view.most_rank)
    if view.cut.kind == "keys":
        control("th_keys", shown=min(view.cut.keys, MOST_KEYS), most=MOST_KEYS)


def draw(view: View) -> None:
    """Say what the cut tells, and draw right answers by task before and after it."""
    for side in view.sides:
        if said := _verdict(side, titled=len(view.sides) > 1):
            prose.say(said)
    shares, looks = {}, []
    for side in view.sides:
        bars = _bars(side, titled=len(view.sides) > 1)
        shares |= bars
        looks += [LOOKS.get(side.variant, side.variant)] * len(bars)
    roles, height = (tuple(looks), BARS_OF_TWO) if view.beside else (ONE_MODEL, BARS)
    fig = partial(
        figures.bars,
        tuple(map(task, view.changes)),
        {name: 100 * np.array(part) for name, part in shares.items()},
        axis=t("trained_heads.axis_right"),
        stacked=False,
        roles=roles,
        limits=(0, 105),
        height=height,
    )
    frame = pd.DataFrame(
        [
            {"variant": side.variant, "task": code} | one._asdict()
            for side in view.sides
            for code, one in side.changes.items()
        ]
    )
    file = "trained_heads_answers.csv"
    alt = " ".join(map(_alt, view.sides))
    charts.show(fig, "trained_heads:answers", alt=alt, data=lambda: frame, file=file)
    questions = run.questions(run.loaded(view.model).config.words)
    numbers = {"texts": count(len(questions.tokens)), "answers": count(len(questions.answer))}
    prose.note(t("trained_heads.asked", **numbers))


def _bars(side: Side, *, titled: bool) -> dict[str, list[float]]:
    """Return name -> the shares of all tasks; only the whole model's where nothing is cut."""
    named = {}
    for place, when in enumerate(("before", "after") if side.cut else ("before",)):
        name = t(f"trained_heads.{when}")
        if titled:
            name = t("trained_heads.bar", model=variant(side.variant), when=name)
        named[name] = [change[place] for change in side.changes.values()]
    return named


def _alt(side: Side) -> str:
    each = parted(
        f"{task(code)} {in_percent(change.before)} → {in_percent(change.after)}"
        for code, change in side.changes.items()
    )
    facts = {"model": variant(side.variant), "without": _without(side)}
    return t("trained_heads.alt_answers", **facts, each=each)


def _without(side: Side) -> str:
    """Return what is cut, for a sentence."""
    if side.cut is None:
        return t("trained_heads.without_nothing")
    cut = side.cut
    facts = {"layer": count(cut.layer), "rank": count(cut.rank), "keys": count(cut.keys)}
    facts["head"] = listed(map(count, cut.heads))
    return t(f"trained_heads.without_{cut.kind}", **facts)


def _verdict(side: Side, *, titled: bool) -> str:
    """Say whether the heads that are cut do their task alone, and which task is hit harder."""
    if side.cut is None:
        said = t("trained_heads.no_such_part", model=variant(side.variant))
    else:
        said = sentences(filter(None, (_own(side), _hardest(side)))) if side.cut.heads else ""
    if not titled:
        return said
    facts = {"model": variant(side.variant), "without": _without(side)}
    return t("trained_heads.of_side", said=said, **facts)


def _own(side: Side) -> str:
    changes, own = side.changes, side.task
    if own is None:
        return t("trained_heads.verdict_unnamed")
    found, many = verdict(changes, own), len(side.cut.heads) > 1
    if found == "shared" and not side.others:
        found = "others_unseen"
    spared = [code for code, one in changes.items() if one.before - one.after < SPARED]
    return t(
        f"trained_heads.verdict_{found}{'_many' if many and found != 'unlearned' else ''}",
        task=task(own),
        before=in_percent(changes[own].before),
        after=in_percent(changes[own].after),
        others=count(side.others),
        spared=listed(map(task, spared)),
    )


def _hardest(side: Side) -> str:
    worst = _hit(side)
    change = side.changes[worst]
    if worst == side.task or change.before - change.after < SPARED:
        return ""
    before, after = map(in_percent, change)
    return t("trained_heads.hardest", task=task(worst), before=before, after=after)


def ahead(view: View) -> None:
    """Compute what the next press may ask for, at the end of a run, which a press breaks off.

    All sessions share it, so of a class only the first one has it computed.
    """
    for model, cut in _likely(view):
        run.broken(model, cut)


def _likely(view: View) -> Iterator[tuple[ModelFile, Cut]]:
    """Yield another head, another cut of this one, the step of the training before and after."""
    layers, heads, _ = view.scores.table.shape
    if view.cut.kind == "head":
        for layer in range(layers):
            for head in range(heads):
                yield view.model, replace(view.cut, layer=layer, heads=(head,))
    at = view.steps.index(view.step)
    for step in view.steps[max(at - 1, 0) : at] + view.steps[at + 1 : at + 2]:
        yield run.of_step(view.variant, step), view.cut
    for kind in sorted(view.cuts, key=lambda kind: kind == "keys"):  # which takes longest
        yield view.model, view.taking(kind)
