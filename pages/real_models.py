"""Real models: one attention of a checkpoint, its maps, latents, matrices and kinds of heads."""

import streamlit as st

from ui.frame import page
from ui.pages.real_models import PAGE, charts, controls, layers, words
from ui.pages.real_models import view as views
from ui.parts import maps, prose, real_layer
from ui.words.text import t

page.setup(PAGE)
prose.title(t("real_models.title"))
try:
    view, error = views.view(), None
except ValueError as refusal:
    view, error = None, refusal

if view:
    prose.lead(*words.lead(view), words.look(view))
else:
    prose.say(t("real_models.look_empty"))

pictures, side = st.columns([16, 5], gap="medium")
with side:
    if view:
        maps.controls.head_control()
        prose.say(words.kind(view))
        maps.controls.cell_controls(view.maps.run.words, view.maps.columns)
    real_layer.controls(own_place=True)
    controls.activations()
if view:
    with pictures:
        heads, one_head = st.columns([7, 9], gap="medium")
        with heads:
            prose.say(maps.words.caption(view.maps))
            maps.charts.thumbnails(view.maps)
        with one_head:
            prose.say(maps.words.large(view.maps))
            maps.charts.large(view.maps)
        if view.shares:
            st.subheader(t("real_models.shares_title"), anchor=False)
            prose.say(t("real_models.shares_look"))
            charts.shares(view)
        else:
            st.info(words.missing(view))
    st.subheader(t("maps.parts_title"), anchor=False)
    maps.charts.parts(view.maps)
    if view.shares:
        st.subheader(t("real_models.latents_title"), anchor=False)
        charts.latents(view)
        st.subheader(t("real_models.matrices_title"), anchor=False)
        prose.say(t("real_models.matrices_look"))
        controls.matrix()
        charts.spectra(view)
        layers.section(view)
    maps.controls.listen(view.maps)
else:
    with pictures:
        if error:
            prose.refused(error)
        real_layer.demo_button()
        prose.say(words.families())
        prose.say(t("real_models.demo_how"))
page.footer(view)
