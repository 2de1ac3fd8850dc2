"""A trained decoder at work: from a sentence through every block to the next word."""

import streamlit as st

from ui.engine import trained
from ui.frame import page
from ui.pages.language_model import PAGE, bars, controls
from ui.pages.language_model.view import view
from ui.parts import prose
from ui.words.text import sentences, t

with page.frame(PAGE) as frame:
    prose.title(t("language_model.title"))
    try:
        shown = view()
    except ValueError as error:
        shown = None
        prose.refused(error)
        if trained.present():
            controls.model()
        else:
            prose.say(t("language_model.what"))
            prose.say(t("language_model.command", command=trained.COMMAND))
    else:
        prose.lead(*bars.lead(shown), t("language_model.look"))
        text, choices = st.columns([6, 4], gap="large")
        with text:
            controls.text()
            controls.writing(shown)
        with choices:
            controls.model()
            controls.path(shown)
        prose.note(sentences(bars.notes(shown)))
        bars.model(shown)
        prose.note(t("language_model.reading"))
        drawing, chances, caches = st.columns([2, 4, 4], gap="large")
        with drawing:
            controls.drawing()
        with chances:
            st.subheader(t("language_model.next"), anchor=False)
            bars.next_word(shown)
        with caches:
            st.subheader(t("language_model.cache_title"), anchor=False)
            bars.caches(shown)
            prose.note(bars.counted(shown))
            controls.onward()
    frame.view = shown
