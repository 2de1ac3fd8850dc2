"""One question of the quiz: its words, its choices, its pictures and their data."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures, quiz
from mla_engine.claims import Figure
from mla_engine.symbols import SYMBOLS
from ui.pages.quiz.view import UNVOTED, View
from ui.parts import charts, questions, statements
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.parts.statements import finding
from ui.words.numbers import amount, size, times
from ui.words.text import listed, named, t

LETTERS = "ABCDE"
SIGNS = {"right": "✓", "wrong": "✗"}
WRITTEN = {  # unit -> how a value of it is written; of the others numbers, and lists of names
    "word": lambda word: t(f"quiz.word_{word}"),
    "verdict": statements.verdict,
    "bytes": size,
    "times": times,
    "M": lambda millions: f"{amount(millions)} M",
}
MAP_HEIGHT, BAR_HEIGHT = 400, 300
AXES = {
    "": "number",
    "M": "million",
    "GFLOP": "gflop",
    "TFLOP": "tflop",
    "FLOP/byte": "intensity",
}
SPREAD = 50  # largest over smallest amount beyond which a linear axis hides the small ones


def said(value: float | int | str, unit: str) -> str:
    """Return an amount with its unit, a list of tensors, or a word of the vocabulary."""
    if unit in WRITTEN:
        return WRITTEN[unit](value)
    return statements.relisted(value) if isinstance(value, str) else amount(value)


def answers(question: quiz.Question) -> list[str]:
    """Return every choice as text, with its letter."""
    if question.unit == "map":
        return list(LETTERS[: len(question.choices)])
    shown = (said(choice.value, question.unit) for choice in question.choices)
    return [named(letter, text) for letter, text in zip(LETTERS, shown, strict=False)]


def asks(question: quiz.Question) -> str:
    """Return the question as plain text."""
    return t(f"quiz.{question.kind}_asks", **_facts(question))


def _facts(question: quiz.Question) -> dict[str, str]:
    """Return what question and explanation say, as text."""
    facts = {figure.name: said(figure.value, figure.unit) for figure in question.facts}
    right = question.choices[question.answer]
    facts["right"] = said(right.value, question.unit)
    facts["text"] = " ".join(question.tokens)
    if question.unit == "map":
        facts |= {f"map_{choice.because}": choice.value for choice in question.choices}
    if question.kind == "statement":
        facts["statement"] = statements.statement(facts["claim"])
        facts["evidence"] = statements.evidence(finding(facts["claim"]))
    return facts


def worded(question: quiz.Question) -> questions.Question:
    """Return the question in the reader's language, as every page asks one."""
    case = f"_{question.case}" if question.case else ""
    return questions.choice(
        "",
        statements.typeset(asks(question)),
        answers(question),
        question.answer,
        why=statements.typeset(t(f"quiz.{question.kind}_tells{case}", **_facts(question))),
        texts="quiz.predicted_",
    )


def on_card(here: View) -> None:
    """Ask it in the browser alone, as a static copy does: what is answered is not counted."""
    asked = worded(here.question)
    st.html(title(asked))
    maps(here.question)
    key = f"quiz_{here.seed}_{here.question.kind}"
    card = replace(asked, key=key, asks=t("quiz.predict"))
    questions.ask(lambda _: card, here, comes=True)


def title(asked: questions.Question) -> str:
    """Return what is asked, as HTML."""
    return f'<p class="quiz-asks">{asked.asks}</p>'


def predict(asked: questions.Question) -> None:
    """Draw the choices; as Markdown, in which names of tensors are formulas."""
    options = {
        place: re.sub(r"\w*_\w+", lambda name: f"${SYMBOLS[name[0]].latex}$", text, flags=re.ASCII)
        for place, text in enumerate(asked.answers)
    }
    control("quiz_choice", options=list(options), write=options.get, index=None)


def revealed(question: quiz.Question, asked: questions.Question, predicted: int) -> str:
    """Return the choices with what each stands for, the prediction marked, and the explanation."""
    rows = "".join(
        _row(text, place, question, predicted) for place, text in enumerate(asked.answers)
    )
    verdict = statements.typeset(asked.none if predicted == UNVOTED else asked.told[predicted])
    return (
        f'<ul class="quiz-choices">{rows}</ul><p class="quiz-verdict">{verdict}</p>'
        f'<p class="quiz-tells">{asked.why}</p>'
    )


def _row(text: str, place: int, question: quiz.Question, predicted: int) -> str:
    because = question.choices[place].because
    notes = [t(f"quiz.because_{because}")] if because else []
    notes += [t("quiz.yours")] * (place == predicted)
    notes += [t("quiz.computed")] * (place == question.answer)
    kind = "right" if place == question.answer else "wrong" if place == predicted else ""
    return (
        f'<li class="{kind}"><b>{SIGNS.get(kind, "")}</b> {statements.typeset(text)} '
        f"<small>{statements.typeset(' · '.join(notes))}</small></li>"
    )


def maps(question: quiz.Question) -> None:
    """Draw the maps to choose among side by side, on one scale; nothing without maps."""
    if not question.maps:
        return
    columns = st.columns(len(question.maps))
    for column, letter, shares in zip(columns, LETTERS, question.maps, strict=False):
        with column:
            st.subheader(letter, anchor=False)
            alt = t("quiz.map_alt", letter=letter, n=len(question.tokens))
            charts.show(_map(question, letter, shares), f"quiz_map_{letter}", alt=alt)
    charts.download(partial(_cells, question), "quiz_maps.csv")


def _map(question: quiz.Question, letter: str, shares: np.ndarray) -> charts.Drawing:
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


def _cells(question: quiz.Question) -> pd.DataFrame:
    """Return every cell of the maps to choose among."""
    return pd.DataFrame(
        [
            {"map": letter, "query": query, "key": key, "attention": float(shares[query, key])}
            for letter, shares in zip(LETTERS, question.maps, strict=False)
            for query, key in np.ndindex(shares.shape)
        ]
    )


def bars(question: quiz.Question) -> None:
    """Draw the amounts behind the choices; nothing for a question about words."""
    table = _amounts(question)
    if table is None:
        return
    letters, amounts, unit = list(table["answer"]), list(table["amount"]), table["unit"][0]
    totals = [said(value, unit) for value in amounts]
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


def _amounts(question: quiz.Question) -> pd.DataFrame | None:
    """Return the amounts behind the choices and their unit, None where there are none."""
    facts = {figure.name: figure for figure in question.facts}
    behind = [
        facts.get(choice.value, Figure("", choice.value, question.unit))
        for choice in question.choices
    ]
    if question.unit == "map" or any(isinstance(figure.value, str) for figure in behind):
        return None
    values = [float(figure.value) for figure in behind]
    letters = list(LETTERS[: len(values)])
    return pd.DataFrame({"answer": letters, "amount": values, "unit": behind[0].unit})
