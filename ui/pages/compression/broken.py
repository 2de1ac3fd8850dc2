"""The first picture of a trained model: which answers break when its cache is cut."""

from functools import partial

import streamlit as st

from mla_engine import figures
from mla_engine.language_model.texts import TASKS
from mla_engine.late import Late
from ui.pages.compression import answers, controls, words
from ui.pages.compression.view import View
from ui.parts import charts, prose
from ui.words.numbers import count
from ui.words.text import t

pd = Late("pandas")

PICTURE, BARS = 330, 330
LINES = {answers.WEIGHTS: "mha", answers.TEXTS: 3, answers.MLA: "mla_absorbed"}  # way -> look
BAR_LOOKS = ("mha", 3, "mla_absorbed")


def first(view: View, *, drawn: bool) -> None:
    """The share of right answers over the size of the cache, and by task at the chosen size.

    Where nothing could be run, the controls stand alone.
    """
    picture, tasks = st.columns([6, 5], gap="medium")
    with tasks:
        controls.rank(view)
        if drawn:
            by_task(view)
    if drawn:
        with picture:
            over_size(view)
        prose.note(words.asked(view))
    controls.weights(view)


def over_size(view: View) -> None:
    """Every way to a smaller cache, the chosen size marked."""
    found = answers.over_sizes(view.sizes)
    means = found.pivot(index="size", columns="way", values="mean").reindex(view.sizes)
    small = count(answers.cached(answers.MLA))
    fig = partial(
        figures.right_answers,
        view.sizes,
        {words.way(code): 100 * means[code].to_numpy() for code in LINES},
        roles=tuple(LINES.values()),
        marked=(words.way(answers.MLA), t("compression.trained_mark", size=small)),
        titles=(t("compression.axis_size"), t("compression.axis_right")),
        at=view.rank,
        height=PICTURE,
    )
    charts.show(
        fig,
        "compression:answers",
        alt=words.alt_answers(view),
        data=lambda: found,
        file="mla_compression_answers.csv",
    )


def by_task(view: View) -> None:
    """Right answers by task: of the MHA as it is, cut to the chosen size, and of the MLA."""
    found = {name: answers.right(one) for name, one in words.compared(view).items()}
    fig = partial(
        figures.bars,
        [t(f"compression.task_{task}") for task in TASKS],
        {name: [100 * shares[task] for task in TASKS] for name, shares in found.items()},
        axis=t("compression.axis_right"),
        stacked=False,
        roles=BAR_LOOKS,
        limits=(0, 105),
        height=BARS,
    )
    charts.show(
        fig,
        "compression:tasks",
        alt=words.alt_tasks(found),
        data=lambda: pd.DataFrame(found).rename_axis("task").reset_index(),
        file="mla_compression_tasks.csv",
    )
