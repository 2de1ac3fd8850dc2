"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map."""

import streamlit as st

from ui.frame import page
from ui.pages.rope import PAGE
from ui.pages.rope import charts as rope_charts
from ui.pages.rope import controls as rope_controls
from ui.pages.rope import view as rope
from ui.pages.rope import words as rope_words
from ui.parts import prose
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
topic = state.settings()["rope_topic"]
rope_controls.listen(topic)
try:
    one = rope.head()
    with st.spinner(t("rope.running")):
        statement = rope_words.title(one, topic)
    prose.title(statement, rope_words.look(one, topic))
except ValueError as error:
    one = None
    prose.title(t("rope.title_refused"), "")
    prose.refused(error)
    rope_controls.topics()
else:
    rope_controls.topics()
    picture, controls = st.columns([5, 1], gap="medium")
    with controls:
        rope_controls.of_topic(one, topic)
    with picture:
        if topic == "turning":
            rope_charts.turning(one)
        elif topic == "merged":
            rope_charts.merged(one)
        elif topic == "yarn":
            rope_charts.yarn(one)
        else:
            rope_charts.reading(one, topic)
    formulas = rope_words.FORMULAS[topic]
    for column, formula in zip(st.columns(len(formulas)), formulas, strict=True):
        column.latex(formula)
    prose.say(rope_words.explanation(one, topic))
    for note in rope_words.notes(one):
        st.caption(note)
    rope_controls.ticking(topic)
page.footer(one)
