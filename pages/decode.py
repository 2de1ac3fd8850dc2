"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

import streamlit as st

from ui.frame import page
from ui.pages.decode import PAGE, charts, controls, running, words
from ui.pages.decode.view import view
from ui.parts import prose, ways
from ui.words.text import t

page.setup(PAGE)
prose.title(t("decode.title"))
try:
    shown, error = view(), None
except ValueError as refusal:
    shown, error = None, refusal

if shown:
    prose.lead(*words.lead(shown), t("decode.look"))
else:
    prose.refused(error)

picture, choices = st.columns([7, 3], gap="large")
with choices:
    controls.transport()
    if shown:
        controls.run_settings(shown.most_heads)
if shown:
    with picture:
        charts.blocks(shown)
    running.draw(shown)
    st.caption(words.counted(shown))
    st.markdown(words.whose(shown))
    st.markdown(ways.assumed(shown.model, shown.latent))
    controls.ticking()
page.footer(shown)
