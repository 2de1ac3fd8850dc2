"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map."""

import streamlit as st

from ui.frame import page
from ui.pages.rope import PAGE, chosen, listen
from ui.pages.rope.head import notes
from ui.parts import prose, questions
from ui.parts.control import control
from ui.settings import state
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t(f"rope.title_{state.settings()['rope_topic']}"))
    listen()
    try:
        with st.spinner(t("rope.running")):
            topic = chosen()()
            _ = topic.found  # computed now, so that a refusal is told here
    except ValueError as error:
        topic = None
        prose.refused(error)
        control("rope_topic", label_visibility="collapsed")
    else:
        prose.lead(*topic.lead(), topic.look())
        questions.ask(lambda shown: shown.question(), topic)
        control("rope_topic", label_visibility="collapsed")
        picture, beside = st.columns([5, 1], gap="medium")
        with beside:
            topic.controls()
        with picture:
            topic.draw()
        for column, formula in zip(st.columns(len(topic.formulas)), topic.formulas, strict=True):
            column.latex(formula)
        prose.say(topic.explanation())
        for note in notes(topic):
            prose.note(note)
    frame.view = topic
