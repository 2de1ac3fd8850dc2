"""The pictures of the page trained_heads."""

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.language_model.heads import SCORES
from ui.pages.trained_heads import controls, run, trained_models, words
from ui.pages.trained_heads.settings import FINISHED
from ui.pages.trained_heads.view import View
from ui.parts import charts, prose
from ui.parts.figure_words import map_words
from ui.words.numbers import count, fixed
from ui.words.text import t

TABLE, MAP, BARS, CURVE = 360, 520, 340, 300
UPRIGHT = 320  # pixels: the short names of eight heads stand side by side


def table(view: View) -> None:
    """Every head with its scores; the chosen one's highest is framed."""
    found = view.scores
    heads = words.every(view)
    values = found.table.flatten(0, 1).T.numpy()
    place = view.layer * found.table.shape[1] + view.head
    fig = figures.share_map(
        values,
        axes=(t("trained_heads.axis_score"), t("trained_heads.axis_head")),
        name=t("trained_heads.attention"),
        rows=[words.score(kind) for kind in found.kinds],
        columns=list(heads),
        cell=(int(values[:, place].argmax()), place),
        height=TABLE,
        words=map_words(),
        width=UPRIGHT,
    )
    frame = pd.DataFrame(values.T, columns=list(found.kinds))
    charts.show(
        fig,
        "trained_heads:scores",
        alt=t("trained_heads.alt_table", heads="; ".join(heads.values())),
        data=lambda: frame.assign(head=list(heads)),
        file="trained_heads_scores.csv",
    )
    prose.say(words.does(view))
    with st.expander(t("trained_heads.meaning")):
        prose.say("\n".join(f"- {t(f'trained_heads.means_{kind}')}" for kind in SCORES))


def answers(view: View) -> None:
    """Right answers by task before and after the cut."""
    changes = view.changes
    parts = {
        t(f"trained_heads.{when}"): [100 * change[place] for change in changes.values()]
        for place, when in enumerate(("before", "after"))
    }
    fig = figures.bars(
        [words.task(code) for code in changes],
        parts,
        axis=t("trained_heads.axis_right"),
        stacked=False,
        limits=(0, 105),
        height=BARS,
    )
    each = "; ".join(
        f"{words.task(code)} {words.percent(change.before)} → {words.percent(change.after)}"
        for code, change in changes.items()
    )
    frame = pd.DataFrame([{"task": code} | one._asdict() for code, one in changes.items()])
    alt = t("trained_heads.alt_answers", without=words.without(view), each=each)
    file = "trained_heads_answers.csv"
    charts.show(fig, "trained_heads:answers", alt=alt, data=lambda: frame, file=file)


def head_map(view: View) -> None:
    """Where the chosen head looks on the example; the frame is where its last answer stands."""
    shown = run.example(view.model, view.text)
    attention = shown.maps[view.layer, view.head]
    fig = figures.attention_map(
        attention,
        shown.words,
        shown.words,
        mask=shown.mask,
        head=words.named(view, view.layer, view.head),
        name=t("trained_heads.attention"),
        cell=shown.asked[-1],
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
    query, key = shown.asked[-1]
    ends = {"asks": shown.words[query], "decides": shown.words[key]}
    prose.say(t("trained_heads.frame", share=words.percent(float(attention[query, key])), **ends))


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
    fig = figures.curves(x, line, titles=titles, at=at, height=CURVE)
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
