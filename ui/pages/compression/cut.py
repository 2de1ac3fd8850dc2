"""A trained model whose cache is cut afterwards: which answers break."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.language_model.texts import TASKS
from ui.pages.compression import answers
from ui.pages.compression.errors import rank_control, weights_control
from ui.pages.compression.view import View
from ui.parts import charts, prose
from ui.words.numbers import count, in_percent
from ui.words.text import listed, named, parted, t

HEIGHT = 380
LINES = {answers.WEIGHTS: "mha", answers.TEXTS: 3, answers.MLA: "mla_absorbed"}  # way -> look


def draw(view: View) -> None:
    """Draw right answers over the size of the cache, and by task at the chosen size.

    Raises:
        ValueError, FullError: in the engine's words; the controls are drawn.
    """
    st.subheader(t("compression.section_cut"), anchor=False)
    try:
        line = _line(view)
    except ValueError:
        rank_control(view)
        weights_control(view)
        raise
    prose.badges()
    prose.say(line)
    with st.container(key="beside"):
        picture, tasks = st.columns([6, 5], gap="medium")
    with tasks:
        rank_control(view)
        _by_task(view)
    with picture:
        _over_size(view)
    texts = answers.ASKED * sum(len(task.loads) for task in TASKS.values())
    with st.expander(t("compression.how_asked")):
        prose.say(t("compression.asked", texts=count(texts), most=count(view.sizes[-1])))
    weights_control(view)


def _line(view: View) -> str:
    """Return what the model still answers with its cache cut, and what one trained so does.

    Raises:
        ValueError, FullError: in the engine's words.
    """
    small = answers.cached(answers.MLA)
    return t(
        "compression.answered",
        right=in_percent(answers.mean(view.cut(answers.WEIGHTS))),
        rank=count(view.rank),
        full=count(view.source.full),
        cached=count(small),
        whole=in_percent(answers.mean(answers.cut(answers.WHOLE, view.source.full))),
        trained=in_percent(answers.mean(answers.cut(answers.MLA, small))),
    )


def _over_size(view: View) -> None:
    """Draw every way to a smaller cache, the chosen size marked."""
    found = answers.over_sizes(view.sizes)
    means = found.pivot(index="size", columns="way", values="mean").reindex(view.sizes)
    small = answers.cached(answers.MLA)
    names = {code: t(f"compression.way_{code}") for code in LINES}
    figure = partial(
        figures.right_answers,
        view.sizes,
        {names[code]: 100 * means[code].to_numpy() for code in LINES},
        roles=tuple(LINES.values()),
        marked=(names[answers.MLA], t("compression.trained_mark", size=count(small))),
        titles=(t("compression.axis_size"), t("compression.axis_right")),
        at=view.rank,
        height=HEIGHT,
    )
    own = (answers.WEIGHTS, answers.TEXTS)
    facts = {code: in_percent(answers.mean(view.cut(code))) for code in own}
    facts["trained"] = in_percent(answers.mean(answers.cut(answers.MLA, small)))
    alt = t("compression.alt_answers", rank=count(view.rank), cached=count(small), **facts)
    about = {"data": lambda: found, "file": "mla_compression_answers.csv"}
    charts.show(figure, "compression:answers", alt=alt, follows=view.follows, **about)


def _by_task(view: View) -> None:
    """Draw right answers by task: of the MHA as it is, cut to the chosen size, and of the MLA."""
    found = _compared(view)
    tasks = {task: t(f"compression.task_{task}") for task in TASKS}
    figure = partial(
        figures.bars,
        list(tasks.values()),
        {name: [100 * shares[task] for task in TASKS] for name, shares in found.items()},
        axis=t("compression.axis_right"),
        stacked=False,
        roles=tuple(LINES.values()),
        limits=(0, 105),
        height=HEIGHT,
    )
    each = (
        named(name, listed(f"{tasks[task]} {in_percent(shares[task])}" for task in TASKS))
        for name, shares in found.items()
    )
    charts.show(
        figure,
        "compression:tasks",
        alt=t("compression.alt_tasks", each=parted(each)),
        data=lambda: pd.DataFrame(found).rename_axis("task").reset_index(),
        file="mla_compression_tasks.csv",
    )


def _compared(view: View) -> dict[str, dict[str, float]]:
    """Return right answers by task, of each model under its name with what it caches."""
    small = answers.cached(answers.MLA)
    shown = {
        answers.WHOLE: answers.cut(answers.WHOLE, view.source.full),
        answers.WEIGHTS: view.cut(answers.WEIGHTS),
        answers.MLA: view.cut(answers.MLA) or answers.cut(answers.MLA, small),
    }
    return {
        t(f"compression.bar_{code}", size=count(one.size)): answers.right(one)
        for code, one in shown.items()
    }
