"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from."""

import streamlit as st

from ui.frame import page
from ui.pages.attention_maps import PAGE, charts, controls, words
from ui.pages.attention_maps import view as views
from ui.parts import maps, prose
from ui.words.text import t

page.setup(PAGE)
prose.title(t("attention_maps.title"))
try:
    view, error = views.view(), None
except ValueError as refusal:
    view, error = None, refusal

if view:
    prose.lead(*words.lead(view), words.look(view))

*pictures, side = st.columns([7, 9, 5] if view else [16, 5], gap="medium")
with side:
    maps.controls.text_controls()
    controls.layer()
if view:
    with side:
        maps.controls.cell_controls(view.maps.run.words)
    heads, one_head = pictures
    with heads:
        st.markdown(maps.words.caption(view.maps))
        maps.charts.thumbnails(view.maps)
    with one_head:
        st.markdown(maps.words.large(view.maps))
        maps.charts.large(view.maps)

    st.subheader(t("maps.parts_title"), anchor=False)
    st.markdown(words.parts(view))
    maps.charts.parts(view.maps)

    numbers, tensors = st.columns(2, gap="large")
    with numbers:
        st.subheader(words.say(view, "origin_title"), anchor=False)
        st.markdown(words.say(view, "origin_look"))
        words.origin(view)
    with tensors:
        st.subheader(t("attention_maps.tensors_title"), anchor=False)
        controls.tensor(view)
        st.latex(words.formula(view))
        prose.say(words.shape(view))
        charts.tensor(view)
    maps.controls.listen(view.maps)
else:
    with pictures[0]:
        prose.refused(error)

page.footer(view)
