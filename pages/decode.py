"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

import streamlit as st

from ui.frame import page
from ui.pages.decode import PAGE, controls, words
from ui.pages.decode import charts as decode_charts
from ui.pages.decode import view as decode
from ui.parts import prose
from ui.parts.ways import assumed
from ui.words.text import t

page.setup(PAGE)
try:
    shown, error = decode.scene(), None
except ValueError as refusal:
    shown, error = None, refusal

if shown:
    prose.title(words.title(shown), words.look())
else:
    prose.title(t("decode.title_refused"), "")
    prose.refused(error)

picture, choices = st.columns([7, 3], gap="large")
with choices:
    controls.transport()
    if shown:
        controls.run_settings(shown.n_heads)
if shown:
    with picture:
        decode_charts.blocks(shown)
    decode_charts.numbers(shown)
    st.caption(words.counted(shown))
    st.markdown(words.whose(shown))
    st.markdown(assumed(shown.latent))
    controls.ticking()
page.footer(shown)
