"""Both forms' outputs on the absorption page, and how far rounding drives them apart."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.absorption import run
from ui.pages.absorption.charts import plot
from ui.pages.absorption.view import View
from ui.parts import charts
from ui.parts.figure_words import map_words
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

PANEL = 330
LIMITS = (1e-17, 1.0)  # from float64's rounding to nothing right


def rounding(view: View) -> None:
    """Both forms' outputs and their difference, live, in three formats."""
    with st.spinner(t("absorption.running")):
        found = run.rounding(view.config, view.origin, view.heads, view.words)
    chosen = state.settings()["ab_type"]
    result = found[chosen]
    ran = {"heads": count(len(view.heads)), "words": count(len(view.words))}
    look = t("absorption.rounding_look", type=chosen, between=f"{result.between:.1e}", **ran)
    st.markdown(look)
    state.control(st.segmented_control, t("absorption.type"), "ab_type", list(found), required=True)
    limit = figures.shared_limit(result.expanded, result.absorbed)
    panels = {
        "expanded": (result.expanded, limit),
        "absorbed": (result.absorbed, limit),
        "difference": (result.difference, figures.shared_limit(result.difference)),
    }
    for column, (name, (u, most)) in zip(st.columns(3), panels.items(), strict=True):
        with column:
            _output(view, name, u, most)
    left, right = st.columns(2, gap="large")
    with left:
        _distances(found)
    with right:
        table = _table(found)
        st.table(table)
        charts.download(partial(table.reset_index), "mla_forms_rounding.csv")
        st.markdown(t("absorption.rounding_words"))


def _output(view: View, name: str, u: np.ndarray, limit: float) -> None:
    st.markdown(t(f"absorption.u_{name}"))
    fig = figures.tensor_map(
        u,
        axes=(t("maps.axis_t"), t("maps.axis_d")),
        name="u",
        rows=view.words,
        limit=limit,
        height=PANEL,
        words=map_words(),
    )
    alt = t("absorption.alt_u", name=t(f"absorption.u_{name}"), largest=f"{np.abs(u).max():.2e}")
    plot(fig, f"u_{name}", alt)
    charts.download(partial(pd.DataFrame, u, view.words), f"u_{name}.csv")


def _distances(found: dict[str, run.Rounding]) -> None:
    parts = {
        t("absorption.between"): [r.between for r in found.values()],
        t("absorption.expanded_error"): [r.expanded_error or np.nan for r in found.values()],
        t("absorption.absorbed_error"): [r.absorbed_error for r in found.values()],
    }
    fig = figures.bars(
        list(found),
        parts,
        stacked=False,
        log=True,
        limits=LIMITS,
        height=PANEL,
        axis=t("absorption.relative"),
    )
    each = ", ".join(f"{name} {r.between:.1e}" for name, r in found.items())
    plot(fig, "rounding", t("absorption.alt_rounding", each=each))


def _table(found: dict[str, run.Rounding]) -> pd.DataFrame:
    rows = {
        name: [f"{x:.1e}" for x in (r.between, r.expanded_error, r.absorbed_error)]
        for name, r in found.items()
    }
    columns = [t(f"absorption.{name}") for name in ("between", "expanded_error", "absorbed_error")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)
