"""After MLA: what makes a cache small, over published models, and what is stored against read."""

import streamlit as st

from kvcount import MODELS
from ui.frame import page
from ui.pages.after_mla import PAGE, factors, printed, reading
from ui.pages.after_mla.view import view
from ui.parts import prose
from ui.parts.control import control
from ui.words.numbers import count
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("after_mla.title"))
    try:
        shown, error = view(), None
    except ValueError as refusal:
        shown, error = None, refusal

    if shown:
        prose.lead(*factors.lead(shown), factors.product(shown))
    else:
        prose.refused(error)
    picture, choices = st.columns([6, 5], gap="large")
    with choices:
        factors.story()
        if shown:
            prose.say(factors.chapter(shown))
        factors.choices()
    if shown:
        with picture:
            factors.draw(shown)
        with st.expander(t("after_mla.levers")):
            for sentence in (*factors.how(shown), factors.sharing(shown)):
                prose.say(sentence)
        st.subheader(t("after_mla.section_read"), anchor=False)
        picture, beside = st.columns([3, 2], gap="large")
        with beside:
            control("am_context")
            prose.say(reading.sentence(shown))
            prose.say(t("after_mla.read_why"))
        with picture:
            reading.draw(shown)
        st.subheader(t("after_mla.section_printed"), anchor=False)
        with prose.refusals():
            printed.draw()
        st.subheader(t("after_mla.section_every"), anchor=False)
        prose.say(t("after_mla.every_words", n=count(len(MODELS))))
        with prose.refusals():
            reading.every(shown)
        with st.expander(t("after_mla.sources")):
            prose.say(factors.source(shown))
    frame.view = shown
