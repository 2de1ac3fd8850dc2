"""The page with the app's own real model."""

from functools import partial

import streamlit as st

from ui.pages.language_model import bars, controls
from ui.pages.language_model.picture import rows
from ui.pages.language_model.real import charts, picture
from ui.pages.language_model.real.sentences import EXAMPLES
from ui.pages.language_model.real.view import View
from ui.pages.language_model.view import real_view
from ui.parts import prose, reader
from ui.parts.charts import download
from ui.words.numbers import count
from ui.words.text import t


def scene() -> View | None:
    """Draw the page; None where its text cannot be read."""
    prose.title(t("language_model.title"))
    try:
        with st.spinner(t("language_model.loading"), show_time=True):
            shown, error = real_view(), None
    except ValueError as refusal:
        shown, error = None, refusal
    if shown:
        prose.lead(*charts.lead(shown), t("language_model.look_lens"))
    else:
        prose.refused(error)
    text, choices = st.columns([6, 4], gap="large")
    with text:
        reader.text(EXAMPLES, then=controls.at_the_end)
        if shown:
            reader.spelling(shown.words)
            button, path = st.columns(2, vertical_alignment="bottom")
            with button:
                controls.write(shown, text=shown.written())
            with path:
                controls.path(shown)
    with choices:
        if shown:
            bars.likeliest(shown)
        reader.choice()
    if shown:
        _drawn(shown)
    return shown


def _drawn(shown: View) -> None:
    with st.container(key="lm_lens"):
        st.html(picture.drawn(shown))
    download(partial(picture.table, shown), "logit_lens.csv")
    there = rows(shown)
    if len(there) < len(shown.words):
        values = {"first": count(there[0] + 1), "last": count(there[-1] + 1)}
        prose.note(t("language_model.part", all=count(len(shown.words)), **values))
    with st.expander(t("common.how_to_read")):
        prose.say(t("language_model.reading_lens"))
    guess, heads = st.columns(2, gap="large")
    with guess:
        st.subheader(t("language_model.ways"), anchor=False)
        charts.guess(shown)
    with heads:
        st.subheader(t("language_model.heads_title", layer=count(shown.layer)), anchor=False)
        controls.layer(shown.model.config.n_layers)
        charts.heads(shown)
        charts.onward(shown)
    chances, caches = st.columns(2, gap="large")
    with chances:
        st.subheader(t("language_model.next"), anchor=False)
        bars.next_word(shown)
        controls.drawing()
        controls.more()
    with caches:
        st.subheader(t("language_model.cache_title"), anchor=False)
        charts.caches(shown)
    charts.written(shown)
