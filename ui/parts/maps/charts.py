"""The charts of the attention maps' page, each with its alternative text and download."""

import csv
import io
from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Figure, symbol_html
from mla_engine.symbols import SYMBOLS
from ui.parts.figure_words import map_words
from ui.parts.maps import controls as maps_controls
from ui.parts.maps import terms as maps_terms
from ui.parts.maps.view import View, short
from ui.settings import state
from ui.words.numbers import count, digits
from ui.words.text import t, tensor

LARGE, PANEL = 560, 430  # pixels high
PANEL_OPTIONS = {"numbers": False, "width": 130}  # what a small projector leaves to each of four
TOKEN_AXES = ("t", "s")
CLICKABLE = ("heads", "large", "attention", "scores_C", "scores_R", "scores")


def thumbnails(view: View) -> None:
    """All heads that were run, as tiles; a click chooses one."""
    run = view.run
    fig = figures.head_tiles(
        view.attention,
        run.heads,
        tokens=(run.words, run.words),
        mask=view.mask,
        chosen=view.place,
        height=LARGE,
        words=map_words(),
    )
    rows = [f"{head} {word}" for head in run.heads for word in run.words]
    table = np.where(view.mask, view.attention, np.nan).reshape(len(rows), -1)
    alt = t("attention_maps.alt_heads", **view.facts)
    show(fig, "heads", alt, table, rows, run.words)


def large(view: View) -> None:
    """The chosen head's attention."""
    _attention(view, "large", LARGE)


def _attention(view: View, chart: str, height: int) -> None:
    shares = view.matrix("attention")
    fig = figures.attention_map(
        shares,
        view.run.words,
        view.run.words,
        head=str(view.head),
        name=t("attention_maps.share"),
        cell=(view.query, view.key),
        height=height,
        words=map_words(),
        **({} if height == LARGE else PANEL_OPTIONS),
    )
    alt = t("attention_maps.alt_attention", **view.facts)
    show(fig, chart, alt, shares, view.run.words, view.run.words)


def parts(view: View) -> None:
    """Content, position and summed logits on one scale, and the attention beside them."""
    run = view.run
    panels = {code: view.matrix(code) for code in (*view.parts, "scores")}
    limit = figures.shared_limit(*panels.values())
    columns = st.columns(len(panels) + 1)
    for column, (code, values) in zip(columns, panels.items(), strict=False):
        with column:
            st.markdown(t(f"attention_maps.panel_{code}"), unsafe_allow_html=True)
            show(
                _scores(view, code, values, limit),
                code,
                t("attention_maps.alt_scores", name=t(f"symbols.{code}"), **view.facts),
                values,
                run.words,
                run.words,
            )
    with columns[-1]:
        st.markdown(t("attention_maps.panel_attention"), unsafe_allow_html=True)
        _attention(view, "attention", PANEL)


def _scores(view: View, code: str, values: np.ndarray, limit: float) -> Figure:
    return figures.score_map(
        values,
        view.run.words,
        view.run.words,
        limit=limit,
        head=str(view.head),
        name=symbol_html(code),
        cell=(view.query, view.key),
        height=PANEL,
        words=map_words(),
        **PANEL_OPTIONS,
    )


def origin(view: View) -> None:
    """Where the chosen cell's number comes from, written out."""
    found = view.provenance
    tables = st.container(key="maps_terms")
    for column, part in zip(tables.columns(2), found.parts, strict=False):
        with column:
            st.html(maps_terms.table(part))
            st.markdown(maps_terms.scaled(part, found), unsafe_allow_html=True)
    words = (short(view.run.words[place]) for place in (view.query, view.key))
    for line in maps_terms.steps(found, *words):
        st.markdown(line, unsafe_allow_html=True)


def intermediates(view: View) -> None:
    """Any other tensor of the run, chosen from a list."""
    run = view.run
    codes = [*run.steps, *run.weights]
    chosen = _nearest(state.settings()["map_tensor"], codes)
    maps_controls.choice(
        st.selectbox,
        t("attention_maps.tensor"),
        "map_tensor",
        chosen,
        codes,
        format_func=_described,
    )
    matrix = run.matrix(chosen, view.head)
    wanted = state.settings()["map_tensor"]
    if wanted not in (chosen, state.default("map_tensor")):
        st.caption(t("attention_maps.no_such_tensor", wanted=wanted, shown=chosen))
    letters = run.axes(chosen)
    names = [run.words if letter in TOKEN_AXES else None for letter in letters]
    symbol = SYMBOLS[chosen]
    formula = symbol.step(run.form).formula
    st.latex(f"{symbol.latex} = {formula}" if formula else symbol.latex)
    fig = figures.tensor_map(
        matrix,
        axes=tuple(t(f"attention_maps.axis_{letter}") if letter else "" for letter in letters),
        name=symbol_html(chosen),
        rows=names[0],
        columns=names[1],
        height=PANEL,
        words=map_words(),
    )
    shape = " × ".join(count(side) for side in matrix.shape)
    alt = t("attention_maps.alt_tensor", name=chosen, shape=shape, limit=digits(_largest(matrix)))
    rows, columns = (
        name or [f"{letter}{n}" for n in range(side)]
        for name, letter, side in zip(names, letters, matrix.shape, strict=True)
    )
    st.markdown(
        t("attention_maps.tensor_shape", name=tensor(chosen), shape=shape, head=count(view.head)),
        unsafe_allow_html=True,
    )
    show(fig, chosen, alt, matrix, rows, columns)


def _nearest(code: str, codes: list[str]) -> str:
    """The chosen tensor, or where a variant has it not, the first after h."""
    return code if code in codes else codes[1]


def _described(code: str) -> str:
    return f"{code} · {t(f'symbols.{code}')}"


def _largest(matrix: np.ndarray) -> float:
    return figures.shared_limit(matrix)


def caption(view: View) -> str:
    """How many heads and tokens were run."""
    first, last = view.run.heads[0], view.run.heads[-1]
    every = len(view.run.heads) == view.run.config.n_heads
    key = "run_all" if every else "run_one" if first == last else "run_some"
    return t(f"attention_maps.{key}", first=count(first), last=count(last), **view.facts)


def show(
    fig: Figure,
    chart: str,
    alt: str,
    matrix: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """A chart with its alternative text, and the numbers behind it as CSV."""
    if chart in CLICKABLE:
        fig.update_layout(meta={"chart": chart})
    export = {"format": "png", "scale": 2, "filename": chart}
    st.plotly_chart(
        fig,
        width="stretch",
        key=f"chart:{chart}",
        alt=alt,
        config={"displaylogo": False, "toImageButtonOptions": export},
    )
    st.download_button(
        t("common.download_csv"),
        partial(as_csv, matrix, rows, columns),
        file_name=f"{chart}.csv",
        mime="text/csv",
        key=f"csv:{chart}",
        type="tertiary",
    )


def as_csv(matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> str:
    """A matrix with its row and column names; masked cells are empty."""
    text = io.StringIO()
    sheet = csv.writer(text)
    sheet.writerow(["", *columns])
    for name, values in zip(rows, matrix, strict=True):
        cells = [f"{value:.9g}" if np.isfinite(value) else "" for value in values]
        sheet.writerow([name, *cells])
    return text.getvalue()
