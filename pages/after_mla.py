"""After MLA: what makes a cache small, over published models, and what is stored against read."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.after_mla import PAGE, charts, controls, words
from ui.pages.after_mla.view import view
from ui.parts import prose, sections
from ui.words.numbers import count
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("after_mla.title"))
    try:
        shown, error = view(), None
    except ValueError as refusal:
        shown, error = None, refusal

    if shown:
        prose.lead(*words.lead(shown), t("after_mla.look"))
    else:
        prose.refused(error)
    controls.story()
    if shown:
        prose.say(words.chapter(shown))
    picture, choices = st.columns([6, 5], gap="large")
    with choices:
        controls.draw()
    if shown:
        with choices:
            prose.say(words.product(shown))
            for sentence in words.how(shown):
                prose.say(sentence)
            prose.say(words.sharing(shown))
        with picture:
            charts.steps(shown)
        st.subheader(t("after_mla.section_read"), anchor=False)
        picture, beside = st.columns([3, 2], gap="large")
        with beside:
            controls.context()
            prose.say(words.reading(shown))
            prose.say(t("after_mla.read_why"))
        with picture:
            charts.stored_and_read(shown)
        st.subheader(t("after_mla.section_printed"), anchor=False)
        sections.later("printed_formulas", charts.printed, (1250, 1250, 1300))
        st.subheader(t("after_mla.section_every"), anchor=False)
        prose.say(t("after_mla.every_words", n=count(len(shown.every))))
        sections.later("every_cache", partial(charts.every, shown), (420, 420, 420))
        with st.expander(t("after_mla.sources")):
            prose.say(words.source(shown))
    frame.view = shown
