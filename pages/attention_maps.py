"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from."""

import streamlit as st

from ui.frame import page
from ui.pages.attention_maps import PAGE
from ui.parts import prose
from ui.parts.maps import charts as maps_charts
from ui.parts.maps import controls as maps_controls
from ui.parts.maps import view as maps
from ui.words.text import t

page.setup(PAGE)
try:
    view, error = maps.view(), None
except ValueError as refusal:
    view, error = None, refusal

if view:
    prose.title(view.say("title"), view.look)
else:
    prose.title(t("attention_maps.title_refused"), "")

*pictures, controls = st.columns([7, 9, 5] if view else [16, 5], gap="medium")
with controls:
    maps_controls.text_controls()
    maps_controls.layer_controls()
if view:
    with controls:
        maps_controls.cell_controls(view.run.words)
    heads, one_head = pictures
    with heads:
        st.markdown(maps_charts.caption(view))
        maps_charts.thumbnails(view)
    with one_head:
        st.markdown(view.say("large_note"))
        maps_charts.large(view)

    st.subheader(t("attention_maps.parts_title"), anchor=False)
    st.markdown(view.say("split" if view.parts else "no_split"))
    maps_charts.parts(view)

    words, numbers = st.columns(2, gap="large")
    with words:
        st.subheader(view.say("origin_title"), anchor=False)
        st.markdown(view.say("origin_look"))
        maps_charts.origin(view)
    with numbers:
        st.subheader(t("attention_maps.tensors_title"), anchor=False)
        maps_charts.intermediates(view)
    maps_controls.listen(view)
else:
    with pictures[0]:
        prose.refused(error)

page.footer(view)
