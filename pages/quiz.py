"""Quiz: predict, then reveal; questions and answers come from the engine, the set from a number."""

import streamlit as st

from ui.frame import page
from ui.pages.quiz import PAGE, charts, controls, places, summary, tables, words
from ui.pages.quiz.view import view
from ui.parts import links, prose
from ui.parts.charts import download
from ui.words.text import t

page.setup(PAGE)
prose.title(t("quiz.title"))
try:
    here = view(st.empty())
except ValueError as error:
    prose.refused(error)
    page.footer(None)
    st.stop()
question, predicted = here.question, here.answer
controls.listen(here)
prose.lead(*words.lead(here), "" if here.done else t("quiz.look"))

stage, beside = st.columns([3, 1], gap="large")
with stage, st.container(key="quiz_stage"):
    if here.done:
        summary.draw(here)
    else:
        controls.offer(here)
        st.html(words.asked(question))
        if question.maps:
            charts.maps(question)
        if predicted is None:
            controls.predict(here)
        else:
            st.html(words.revealed(question, predicted))
        with st.container(horizontal=True):
            controls.ways(here)
            if predicted is not None:
                place = places.of(question)
                see = t("quiz.see", page=links.name(place))
                st.button(see, on_click=links.follow, args=(place,))
        if predicted is not None:
            charts.bars(question)
with beside:
    controls.choose_set()
    st.caption(t("quiz.hint"))
    st.html(words.board(here))  # below what makes it longer
    table = tables.questions(here)  # now, in the language of the page
    download(lambda: table, "quiz.csv")
page.footer(here)
