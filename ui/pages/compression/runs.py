"""The runs behind the trained models: what they tell apart, what they are, which are missing."""

import pandas as pd
import streamlit as st

from ui.pages.compression import names
from ui.pages.compression.quality import Quality
from ui.pages.compression.verdict import runs, verdict
from ui.parts import prose
from ui.words.numbers import count, digits
from ui.words.text import listed, t


def draw(view: Quality) -> None:
    """Say what was found, on which models, and what was not run."""
    st.subheader(t("quality.section_runs"), anchor=False)
    with st.container(key="quality_verdict"):
        prose.say(verdict(view))
    prose.note(_caveat(view))
    _not_run(view)


def _caveat(view: Quality) -> str:
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


def _not_run(view: Quality) -> None:
    """Draw the runs of the plan that have no row, and say how many had to begin again."""
    missing, (done, planned) = view.study.not_run(), runs(view)
    prose.say(t("quality.runs_all" if done == planned else "quality.runs", n=done, all=planned))
    if missing:
        rows = {
            names.variant(view, code): (
                count(view.study.plan.variants[code].seeds),
                count(len(view.study.of(code))),
                listed(map(count, seeds)),
            )
            for code, seeds in missing.items()
        }
        columns = [t(f"quality.column_{name}") for name in ("planned", "run", "missing")]
        st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns))
    again = [row.attempts for row in view.study.rows if row.attempts > 1]
    if again:
        prose.say(t("quality.anew", n=count(len(again)), most=count(max(again))))
