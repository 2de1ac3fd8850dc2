"""One head's merged matrix as a picture, its spectrum, and its size against the factors."""

from functools import partial

import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.absorption import controls, run, words
from ui.pages.absorption.run import Merged
from ui.pages.absorption.view import View
from ui.parts import charts, prose, weights
from ui.parts.figure_words import map_words
from ui.words.numbers import count
from ui.words.text import t, tensor

pd = Late("pandas")

HEIGHT = 420


def section(view: View) -> None:
    """The matrix, its singular values, and what keeping the factors saves."""
    with st.spinner(t("absorption.running")):
        found = _found(view)
    facts = words.matrix_facts(view, found)
    look = t("absorption.merged_look", name=tensor(view.matrix), **facts)
    prose.say(look + weights.mark(view.origin))
    picture, spectrum, said = st.columns([4, 4, 4], gap="medium")
    with picture:
        _picture(view, found, t("absorption.alt_merged", name=view.matrix, **facts))
    with spectrum:
        _spectrum(view, found, t("absorption.alt_spectrum", name=view.matrix, **facts))
    with said:
        controls.matrix(view)
        prose.say(t("absorption.entries", heads=count(view.config.n_heads)))
        st.table(words.entries_table(view))
        prose.say(t("absorption.why_factors"))


def _found(view: View) -> Merged:
    return run.merged(view.config, view.origin, view.head)[view.matrix]


def _numbers(view: View) -> "pd.DataFrame":
    """The entries of the matrix."""
    return pd.DataFrame(_found(view).matrix)


def _picture(view: View, found: Merged, alt: str) -> None:
    from_queries = view.matrix == "W_QK" and view.config.d_latent_q
    fig = partial(
        figures.tensor_map,
        found.matrix,
        axes=(t(f"maps.axis_{'l' if from_queries else 'd'}"), t("maps.axis_c")),
        name=figures.symbol_html(view.matrix),
        height=HEIGHT,
        words=map_words(),
    )
    table, file = partial(_numbers, view), f"{view.matrix}.csv"
    charts.show(fig, "absorption:merged", alt=alt, data=table, file=file)


def _spectrum(view: View, found: Merged, alt: str) -> None:
    fig = partial(
        figures.spectrum,
        {figures.symbol_html(view.matrix): found.singular_values},
        at=found.rank,
        at_name=t("absorption.rank", rank=count(found.rank)),
        axes=(t("absorption.number"), t("absorption.singular_value")),
        height=HEIGHT,
    )
    table = partial(pd.DataFrame, {"singular_value": found.singular_values})
    file = f"{view.matrix}_singular_values.csv"
    charts.show(fig, "absorption:spectrum", alt=alt, data=table, file=file)
