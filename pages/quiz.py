"""Quiz: predict, then reveal; questions and answers come from the engine, the set from a number."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.quiz import PAGE
from ui.pages.quiz import charts as quiz_charts
from ui.pages.quiz import view as quiz
from ui.pages.quiz import words as quiz_words
from ui.parts import bridge, charts, prose
from ui.parts import places as claims_links
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
shown = quiz.present(st.empty())
question, predicted = shown.question, shown.answer
bridge.listen("quiz_keys", on_step=partial(quiz.step, shown))
prose.title(quiz_words.title(shown), t("quiz.look"))

stage, controls = st.columns([3, 1], gap="large")
with stage, st.container(key="quiz_stage"):
    st.html(quiz_words.asks(question))
    if question.maps:
        quiz_charts.maps(question)
    if predicted is None:
        options = quiz_words.options(question)
        state.control(
            st.radio,
            t("quiz.predict"),
            "quiz_choice",
            list(options),
            format_func=options.get,
            index=None,
        )
    else:
        st.html(quiz_words.revealed(question, predicted))
    with st.container(horizontal=True):
        st.button(
            t("quiz.reveal"),
            type="primary",
            disabled=state.settings()["quiz_choice"] is None or predicted is not None,
            on_click=quiz.reveal,
            args=(shown,),
        )
        for name, by in (("previous", -1), ("next", 1)):
            at_end = quiz.at_end(shown, by)
            st.button(t(f"quiz.{name}"), disabled=at_end, on_click=quiz.turn, args=(shown, by))
        if predicted is not None:
            target = quiz_words.place(question)
            label = t("quiz.see", page=claims_links.name(target))
            st.button(label, on_click=claims_links.follow, args=(target,))
    if predicted is not None:
        quiz_charts.bars(question)
with controls:
    st.html(quiz_words.board(shown))
    state.control(st.number_input, t("quiz.seed"), "quiz_seed", 0, 9999, then=quiz.again)
    state.control(st.slider, t("quiz.count"), "quiz_count", 1, 31, then=quiz.again)
    st.button(t("quiz.again"), on_click=quiz.again, width="stretch")
    st.caption(t("quiz.hint"))
    table = quiz_words.table(shown)
    charts.download(lambda: table, "quiz.csv")
page.footer(shown)
