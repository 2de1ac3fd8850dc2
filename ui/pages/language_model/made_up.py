"""The page with a trained model of the made-up language: every block of it, and its caches."""

import streamlit as st

from ui.pages.language_model import bars, controls
from ui.pages.language_model.view import View, view
from ui.parts import prose, reader
from ui.sources import trained
from ui.words.text import sentences, t


def scene() -> View | None:
    """Draw the page; None where there is no model, or it cannot read the text."""
    prose.title(t("language_model.title"))
    try:
        shown = view()
    except ValueError as error:
        prose.refused(error)
        reader.choice()
        if trained.present():
            controls.model()
        else:
            prose.say(t("language_model.what"))
            prose.say(t("language_model.command", command=trained.COMMAND))
        return None
    prose.lead(*bars.lead(shown), t("language_model.look"))
    text, choices = st.columns([6, 4], gap="large")
    with text:
        controls.text()
        controls.writing(shown)
        controls.model()
    with choices:
        bars.likeliest(shown)
        reader.choice()
        controls.path(shown)
    prose.note(sentences(bars.notes(shown)))
    bars.model(shown)
    with st.expander(t("common.how_to_read")):
        prose.say(t("language_model.reading"))
    chances, caches = st.columns(2, gap="large")
    with chances:
        st.subheader(t("language_model.next"), anchor=False)
        bars.next_word(shown)
        controls.drawing()
    with caches:
        st.subheader(t("language_model.cache_title"), anchor=False)
        bars.caches(shown)
        prose.note(bars.counted(shown))
        controls.onward()
    return shown
