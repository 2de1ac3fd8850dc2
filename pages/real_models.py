"""Real models: one attention of a checkpoint, its maps, latents, matrices and kinds of heads."""

import streamlit as st

from ui.frame import page
from ui.pages.real_models import PAGE, uploads
from ui.pages.real_models import charts as real_charts
from ui.pages.real_models import layers as real_layers
from ui.pages.real_models import view as real
from ui.parts import prose, real_layer
from ui.parts.maps import charts as maps_charts
from ui.parts.maps import controls as maps_controls
from ui.words.text import t

page.setup(PAGE)
try:
    view, error = real.view(), None
except ValueError as refusal:
    view, error = None, refusal

if view:
    prose.title(view.title(), t("real_models.look" if view.shares else "real_models.look_grouped"))
else:
    prose.title(t("real_models.title_empty"), t("real_models.look_empty"))

pictures, controls = st.columns([16, 5], gap="medium")
with controls:
    if view:
        maps_controls.head_control()
        prose.say(view.kind())
        maps_controls.cell_controls(view.maps.run.words)
    real_layer.controls(own_place=True)
    uploads.activations()
if view:
    with pictures:
        heads, one_head = st.columns([7, 9], gap="medium")
        with heads:
            st.markdown(maps_charts.caption(view.maps))
            maps_charts.thumbnails(view.maps)
        with one_head:
            st.markdown(view.maps.say("large_note"))
            maps_charts.large(view.maps)
        if view.shares:
            st.subheader(t("real_models.shares_title"), anchor=False)
            prose.say(t("real_models.shares_look"))
            real_charts.shares(view)
        else:
            st.info(view.missing())
    st.subheader(t("attention_maps.parts_title"), anchor=False)
    maps_charts.parts(view.maps)
    if view.shares:
        st.subheader(t("real_models.latents_title"), anchor=False)
        real_charts.latents(view)
        st.subheader(t("real_models.matrices_title"), anchor=False)
        prose.say(t("real_models.matrices_look"))
        real_charts.matrices(view)
        real_layers.section(view)
    maps_controls.listen(view.maps)
else:
    with pictures:
        if error:
            prose.refused(error)
        real_layer.demo_button()
        prose.say(t("real_models.families", families=real.families()))
        prose.say(t("real_models.demo_how"))
page.footer(view)
