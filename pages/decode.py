"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

import streamlit as st

from ui import decode, decode_charts, page
from ui import decode_controls as controls
from ui import decode_words as words
from ui.compute_page_words import assumed
from ui.text import t

page.setup("decode", source="any", mend=decode.mend)
try:
    shown, error = decode.scene(), None
except ValueError as refusal:
    shown, error = None, refusal

if shown:
    page.title(words.title(shown), words.look())
else:
    page.title(t("decode.title_refused"), "")
    page.refused(error)

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
page.footer("decode")
