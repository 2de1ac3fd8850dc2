"""Sparse attention: a small indexer scores every key, and few are read."""

import streamlit as st

from ui.frame import page
from ui.pages.sparse import PAGE, answers, keys, published
from ui.pages.sparse.view import view
from ui.parts import prose, questions
from ui.parts.control import control
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("sparse.title"))
    shown = None
    try:
        with st.spinner(t("sparse.running")):
            shown = view()
            lead = keys.lead(shown)
    except ValueError as refusal:
        shown = None
        prose.refused(refusal)
    else:
        prose.lead(*lead)
        questions.ask(answers.question, shown)
        few, asking = st.columns([6, 5], gap="medium")
        with few:
            control("sp_keys")
        with asking:
            keys.query_control(shown)
        picture, curves = st.columns([6, 5], gap="medium")
        text, layer = st.columns([6, 1], gap="medium")
        with layer:
            keys.layer_control(shown)
        with text:
            keys.text_control()
        of_picture, of_curves = st.columns([6, 5], gap="medium")
        try:
            for place, draw in (
                (picture, keys.draw),
                (curves, answers.draw),
                (of_picture, keys.under),
                (of_curves, answers.under),
            ):
                with place:
                    draw(shown)
        except ValueError as refusal:  # the parts after it would be refused, too
            with place:
                prose.refused(refusal)
        st.subheader(t("sparse.section_published"), anchor=False)
        with prose.refusals():
            published.draw(shown)
    frame.view = shown
