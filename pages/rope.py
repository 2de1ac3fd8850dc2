"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map."""

import streamlit as st

from ui import page, rope, rope_charts, rope_controls, rope_words, state
from ui.text import t

PAGE = "rope"

page.setup(PAGE, source="latent", mend=rope.mend)
topic = state.settings()["rope_topic"]
rope_controls.listen(topic)
try:
    one = rope.head()
    with st.spinner(t("rope.running")):
        statement = rope_words.title(one, topic)
    page.title(statement, rope_words.look(topic))
except ValueError as error:
    page.title(t("rope.title_refused"), "")
    page.refused(error)
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
    page.prose(rope_words.explanation(one, topic))
    for note in rope_words.notes(one):
        st.caption(note)
    rope_controls.ticking(topic)
page.footer(PAGE)
