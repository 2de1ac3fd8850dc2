"""Quiz: predict, then reveal; questions and answers come from the engine, the set from a number."""

import streamlit as st

from ui.frame import page
from ui.pages.quiz import PAGE, places, question, question_set
from ui.pages.quiz.view import view
from ui.parts import links, prose, questions
from ui.parts.charts import download
from ui.settings.server import server
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("quiz.title"))
    try:
        here = view(st.empty())
    except ValueError as error:
        prose.refused(error)
    else:
        prose.lead(*question_set.lead(here), "" if here.done else t("quiz.look"))

        stage, beside = st.columns([3, 1], gap="large")
        with stage, st.container(key="quiz_stage"):
            if here.done:
                question_set.summary(here)
            elif server().recorded:
                question.on_card(here)
            else:
                questions.offer(lambda: question.worded(here.question))
                asked, predicted = question.worded(here.question), here.answer
                st.html(question.title(asked))
                question.maps(here.question)
                if predicted is None:
                    question.predict(asked)
                else:
                    st.html(question.revealed(here.question, asked, predicted))
                with st.container(horizontal=True):
                    question_set.ways(here)
                    if predicted is not None:
                        place = places.of(here.question)
                        see = t("quiz.see", page=links.name(place))
                        st.button(see, on_click=links.follow, args=(place,))
                if predicted is not None:
                    question.bars(here.question)
        with beside:
            if server().recorded:
                question_set.choose_in_copy(here)
            else:
                question_set.choose_set()
                st.caption(t("quiz.hint"))
                st.html(question_set.board(here))  # below what makes it longer
            table = question_set.table(here)  # now, in the language of the page
            download(lambda: table, "quiz.csv")
        frame.view = here
