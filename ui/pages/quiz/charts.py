"""The pictures of a question: its maps, and after the reveal its amounts as bars."""

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures, quiz
from ui.pages.quiz import words as quiz_words
from ui.parts import charts
from ui.parts.figure_words import map_words
from ui.words.text import t

MAP_HEIGHT, BAR_HEIGHT = 400, 300
AXES = {
    "": "number",
    "M": "million",
    "GFLOP": "gflop",
    "TFLOP": "tflop",
    "FLOP/byte": "intensity",
}
SPREAD = 50  # largest over smallest amount beyond which a linear axis hides the small ones


def maps(question: quiz.Question) -> None:
    """The maps to choose among, beside one another, on one scale."""
    columns = st.columns(len(question.maps))
    words = map_words()
    for column, letter, shares in zip(columns, quiz_words.LETTERS, question.maps, strict=False):
        seen = shares > 0
        fig = figures.attention_map(
            np.where(seen, shares, np.nan),
            question.tokens,
            question.tokens,
            head=letter,
            height=MAP_HEIGHT,
            numbers=False,
            words=words,
        )
        with column:
            st.subheader(letter, anchor=False)
            alt = t("quiz.map_alt", letter=letter, n=len(question.tokens))
            st.plotly_chart(fig, width="stretch", alt=alt, key=f"quiz_map_{letter}")
    table = pd.DataFrame(
        [
            {"map": letter, "query": query, "key": key, "attention": float(shares[query, key])}
            for letter, shares in zip(quiz_words.LETTERS, question.maps, strict=False)
            for query, key in np.ndindex(shares.shape)
        ]
    )
    charts.download(lambda: table, "quiz_maps.csv")


def bars(question: quiz.Question) -> None:
    """The amounts behind the choices; a question about words alone has none."""
    found = quiz_words.bars(question)
    if not found:
        return
    amounts, unit = found
    letters = list(quiz_words.LETTERS[: len(amounts)])
    totals = [quiz_words.amount(value, unit) for value in amounts]
    low, high = min(amounts), max(amounts)
    log = low > 0 and high / low > SPREAD
    axis = t(f"quiz.axis_{AXES.get(unit, unit)}")
    fig = figures.bars(
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
    listed = ", ".join(f"{letter} {total}" for letter, total in zip(letters, totals, strict=True))
    st.plotly_chart(fig, width="stretch", alt=t("quiz.bars_alt", amounts=listed), key="quiz_bars")
    table = pd.DataFrame({"answer": letters, "amount": amounts, "unit": unit})
    charts.download(lambda: table, "quiz_amounts.csv")
