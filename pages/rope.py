"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map."""

import streamlit as st

from ui.frame import page
from ui.pages.rope import PAGE, charts, controls, guess, words
from ui.pages.rope import view as views
from ui.parts import prose, questions
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
prose.title(t(f"rope.title_{state.settings()['rope_topic']}"))
controls.listen()
try:
    with st.spinner(t("rope.running")):
        view = views.view()
except ValueError as error:
    view = None
    prose.refused(error)
    controls.topics()
else:
    prose.lead(*words.lead(view), words.look(view))
    questions.ask(guess.question, view)
    controls.topics()
    picture, beside = st.columns([5, 1], gap="medium")
    with beside:
        controls.beside(view)
    with picture:
        charts.draw(view)
    formulas = words.FORMULAS[view.topic]
    for column, formula in zip(st.columns(len(formulas)), formulas, strict=True):
        column.latex(formula)
    prose.say(words.explanation(view))
    for note in words.notes(view):
        prose.note(note)
page.footer(view)
