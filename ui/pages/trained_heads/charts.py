"""The pictures of the page trained_heads."""

from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.language_model.heads import SCORES
from mla_engine.lazy import LazyModule
from ui.pages.trained_heads import controls, run, trained_models, words
from ui.pages.trained_heads.settings import FINISHED
from ui.pages.trained_heads.view import Side, View
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.words.numbers import count, fixed
from ui.words.text import t

pd = LazyModule("pandas")

TABLE, MAP, BARS, BARS_OF_TWO, CURVE = 360, 520, 340, 520, 300
LOOKS = {"mla": "mla_absorbed", "mla_nope": "mla_kv"}  # of variants that the table of looks splits
ALONE = (0, 1)  # the looks of one model, whole and cut
UPRIGHT = 320  # pixels: the short names of eight heads stand side by side


def tables(view: View) -> None:
    """Every head with its scores, in both models where there are two."""
    places = st.columns(len(view.sides), gap="medium")
    for place, side in zip(places, view.sides, strict=True):
        with place:
            _table(side, titled=len(view.sides) > 1)
    with st.expander(t("trained_heads.meaning")):
        prose.say("\n".join(f"- {t(f'trained_heads.means_{kind}')}" for kind in SCORES))


def _table(side: Side, *, titled: bool) -> None:
    """The chosen head's highest score is framed."""
    if titled:
        prose.say(f"**{words.variant(side.variant)}**")
    found, heads = side.scores, words.every(side)
    values = found.table.flatten(0, 1).T.numpy()
    place = side.layer * found.table.shape[1] + side.head
    fig = partial(
        figures.share_map,
        values,
        axes=(t("trained_heads.axis_score"), t("trained_heads.axis_head")),
        name=t("trained_heads.attention"),
        rows=[words.row(kind) for kind in found.kinds],
        columns=list(heads),
        cell=(int(values[:, place].argmax()), place),
        height=TABLE,
        words=map_words(),
        width=UPRIGHT,
    )
    frame = pd.DataFrame(values.T, columns=list(found.kinds))
    name = f"scores_{side.variant}" if titled else "scores"
    charts.show(
        fig,
        f"trained_heads:{name}",
        alt=t("trained_heads.alt_table", heads="; ".join(heads.values())),
        data=lambda: frame.assign(head=list(heads)),
        file=f"trained_heads_{name}.csv",
    )
    prose.say(words.does(side))


def answers(view: View) -> None:
    """Right answers by task before and after the cut, of both models where there are two."""
    shares = {name: part for side in view.sides for name, part in _bars(view, side).items()}
    looks = tuple(_look(side) for side in view.sides for _ in _bars(view, side))
    roles, height = (ALONE, BARS) if len(view.sides) == 1 else (looks, BARS_OF_TWO)
    fig = partial(
        figures.bars,
        tuple(map(words.task, view.changes)),
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
    alt = " ".join(_alt(side) for side in view.sides)
    charts.show(fig, "trained_heads:answers", alt=alt, data=lambda: frame, file=file)
    prose.note(words.asked(view))


def _look(side: Side) -> figures.Role:
    """Return the look of a model's bars beside another's."""
    return LOOKS.get(side.variant, side.variant)


def _bars(view: View, side: Side) -> dict[str, list[float]]:
    """Name -> the shares of all tasks; only the whole model where nothing is cut."""
    named = {}
    for place, when in enumerate(("before", "after") if side.cut else ("before",)):
        name = t(f"trained_heads.{when}")
        if len(view.sides) > 1:
            name = t("trained_heads.bar", model=words.variant(side.variant), when=name)
        named[name] = [change[place] for change in side.changes.values()]
    return named


def _alt(side: Side) -> str:
    each = "; ".join(
        f"{words.task(code)} {words.percent(change.before)} → {words.percent(change.after)}"
        for code, change in side.changes.items()
    )
    return t(
        "trained_heads.alt_answers",
        model=words.variant(side.variant),
        without=words.without(side),
        each=each,
    )


def verdicts(view: View) -> None:
    """Say what the cut tells, of each model."""
    for side in view.sides:
        said = words.verdict_on(side)
        if len(view.sides) > 1:
            facts = {"model": words.variant(side.variant), "without": words.without(side)}
            said = t("trained_heads.of_side", said=said, **facts)
        if said:
            prose.say(said)


def head_map(view: View) -> None:
    """Draw where the chosen head looks on the example; its last answer is framed."""
    shown = run.example(view.model, view.text)
    attention = shown.maps[view.layer, view.head]
    fig = partial(
        figures.attention_map,
        attention,
        shown.words,
        shown.words,
        mask=shown.mask,
        head=words.named(view, view.layer, view.head),
        name=t("trained_heads.attention"),
        cell=_frame(view, shown),
        height=MAP,
        numbers=False,
        words=map_words(),
    )
    frame = pd.DataFrame(attention, index=shown.words, columns=shown.words)
    charts.show(
        fig,
        "trained_heads:map",
        alt=words.map_alt(view, shown.words),
        data=frame.reset_index,
        file="trained_heads_map.csv",
    )
    query, key = _frame(view, shown)
    ends = {"asks": shown.words[query], "decides": shown.words[key]}
    said = "frame_bound" if (query, key) in shown.bound else "frame"
    share = words.percent(float(attention[query, key]))
    prose.say(t(f"trained_heads.{said}", share=share, **ends))


def _frame(view: View, shown: run.Example) -> tuple[int, int]:
    """The look that the head is named after: of the last pair that is asked, or its answer."""
    query, key = shown.asked[-1]
    bound = [look for look in shown.bound if look[0] == key]
    return bound[0] if bound and view.kind == "previous" else (query, key)


def training(view: View) -> None:
    """The strongest induction head and the loss, step by step."""
    steps = trained_models.steps(view.variant)
    strongest = [run.induction(trained_models.of_step(view.variant, step)) for step in steps]
    losses = trained_models.losses(view.variant)
    at = steps[-1] if view.step == FINISHED else view.step
    lines = {"induction": (steps, strongest), "loss": (list(losses), list(losses.values()))}
    places = st.columns(2, gap="large")
    for place, (name, (x, y)) in zip(places, lines.items(), strict=True):
        if x:
            with place:
                _curve(name, x, np.array(y), at)


def _curve(name: str, x: list[int], y: np.ndarray, at: int) -> None:
    titles = t("trained_heads.axis_step"), t(f"trained_heads.axis_{name}")
    line = {t(f"trained_heads.line_{name}"): y}
    fig = partial(figures.curves, x, line, titles=titles, at=at, height=CURVE)
    ends = {"first": fixed(float(y[0]), 2), "last": fixed(float(y[-1]), 2)}
    alt = t(f"trained_heads.alt_{name}", steps=count(x[-1]), **ends)
    frame = pd.DataFrame({"step": x, name: y})
    file = f"trained_heads_{name}.csv"
    charts.show(fig, f"trained_heads:{name}", alt=alt, data=lambda: frame, file=file)


def beside(view: View) -> None:
    """The map with its controls."""
    picture, panel = st.columns([3, 2], gap="large")
    with panel:
        controls.text()
        prose.say(t("trained_heads.map_words"))
    with picture:
        head_map(view)
