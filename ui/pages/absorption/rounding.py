"""Both forms' outputs, and how far rounding drives them apart."""

from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.absorption import controls, run, words
from ui.pages.absorption.run import Rounding
from ui.pages.absorption.view import View
from ui.parts import charts, prose, weights
from ui.parts.figure_words import map_words
from ui.words.numbers import scientific
from ui.words.text import t

pd = Late("pandas")

PANEL = 330
LIMITS = (1e-17, 1.0)  # from float64's rounding to nothing right


def section(view: View) -> None:
    """Both outputs and their difference in one format, and the distances in all of them."""
    with st.spinner(t("absorption.running")):
        found = _found(view)
    result = found[view.dtype]
    prose.say(words.rounding_look(view, result) + weights.mark(view.origin))
    controls.number_format()
    _outputs(view, result)
    left, right = st.columns(2, gap="large")
    with left:
        _distances(found)
    with right:
        st.table(words.rounding_table(found))
        charts.download(partial(_numbers, view), "mla_forms_rounding.csv")
        prose.say(t("absorption.rounding_words"))


def _found(view: View) -> dict[str, Rounding]:
    return run.rounding(view.config, view.origin, view.heads, view.words)


def _outputs(view: View, result: Rounding) -> None:
    shared = figures.shared_limit(result.expanded, result.absorbed)
    panels = {
        "expanded": (result.expanded, shared),
        "absorbed": (result.absorbed, shared),
        "difference": (result.difference, figures.shared_limit(result.difference)),
    }
    for column, (name, (u, limit)) in zip(st.columns(3), panels.items(), strict=True):
        with column:
            _output(view, name, u, limit)


def _output(view: View, name: str, u: np.ndarray, limit: float) -> None:
    label = t(f"absorption.u_{name}")
    prose.say(label)
    fig = partial(
        figures.tensor_map,
        u,
        axes=(t("maps.axis_t"), t("maps.axis_d")),
        name="u",
        rows=view.words,
        limit=limit,
        height=PANEL,
        words=map_words(),
    )
    largest = scientific(np.abs(u).max(), 2)
    alt = t("absorption.alt_u", name=words.aloud(label), largest=largest)
    charts.show(fig, f"absorption:u_{name}", alt=alt, data=partial(_rows, view, name))


def _rows(view: View, name: str) -> "pd.DataFrame":
    """One output in the chosen format, a row for each word."""
    u = vars(_found(view)[view.dtype])[name]
    return pd.DataFrame(u, pd.Index(view.words, name="word")).reset_index()


def _distances(found: dict[str, Rounding]) -> None:
    parts = {
        t("absorption.between"): [r.between for r in found.values()],
        t("absorption.expanded_error"): [r.expanded_error or np.nan for r in found.values()],
        t("absorption.absorbed_error"): [r.absorbed_error for r in found.values()],
    }
    fig = partial(
        figures.bars,
        list(found),
        parts,
        stacked=False,
        log=True,
        roles=(1, "mla_each", "mla_absorbed"),
        limits=LIMITS,
        height=PANEL,
        axis=t("absorption.relative"),
    )
    each = ", ".join(f"{name} {scientific(r.between)}" for name, r in found.items())
    charts.show(fig, "absorption:rounding", alt=t("absorption.alt_rounding", each=each))


def _numbers(view: View) -> "pd.DataFrame":
    """The distances as numbers, in codes."""
    found = _found(view).items()
    return pd.DataFrame(
        {"type": name} | {d: vars(r)[d] for d in words.DISTANCES} for name, r in found
    )
