"""The pictures of a question: its maps, and after the reveal its amounts as bars."""

from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.quiz import Question
from ui.pages.quiz import tables, words
from ui.parts import charts
from ui.parts.figure_words import map_words
from ui.words.text import listed, t

MAP_HEIGHT, BAR_HEIGHT = 400, 300
AXES = {
    "": "number",
    "M": "million",
    "GFLOP": "gflop",
    "TFLOP": "tflop",
    "FLOP/byte": "intensity",
}
SPREAD = 50  # largest over smallest amount beyond which a linear axis hides the small ones


def maps(question: Question) -> None:
    """The maps to choose among, beside one another, on one scale."""
    columns = st.columns(len(question.maps))
    for column, letter, shares in zip(columns, words.LETTERS, question.maps, strict=False):
        with column:
            st.subheader(letter, anchor=False)
            alt = t("quiz.map_alt", letter=letter, n=len(question.tokens))
            charts.show(_map(question, letter, shares), f"quiz_map_{letter}", alt=alt)
    charts.download(partial(tables.maps, question), "quiz_maps.csv")


def _map(question: Question, letter: str, shares: np.ndarray) -> charts.Drawing:
    return partial(
        figures.attention_map,
        np.where(shares > 0, shares, np.nan),
        question.tokens,
        question.tokens,
        head=letter,
        height=MAP_HEIGHT,
        numbers=False,
        words=map_words(),
    )


def bars(question: Question) -> None:
    """The amounts behind the choices; a question about words alone has none."""
    table = tables.amounts(question)
    if table is None:
        return
    letters, amounts, unit = list(table["answer"]), list(table["amount"]), table["unit"][0]
    totals = [words.said(value, unit) for value in amounts]
    low, high = min(amounts), max(amounts)
    log = low > 0 and high / low > SPREAD
    axis = t(f"quiz.axis_{AXES.get(unit, unit)}")
    fig = partial(
        figures.bars,
        letters,
        {axis: amounts},
        axis=axis,
        stacked=not log,
        log=log,
        chosen=question.answer,
        totals=totals,
        limits=(low / 3, high * 20) if log else None,
        height=BAR_HEIGHT,
    )
    each = listed(f"{letter} {total}" for letter, total in zip(letters, totals, strict=True))
    alt = t("quiz.bars_alt", amounts=each)
    charts.show(fig, "quiz_bars", alt=alt, data=lambda: table, file="quiz_amounts.csv")
