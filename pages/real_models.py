"""Real models: one attention of a checkpoint, its maps, latents, matrices and kinds of heads."""

import streamlit as st

from ui import (
    maps,
    maps_charts,
    maps_controls,
    page,
    real,
    real_charts,
    real_layers,
    source,
    uploads,
)
from ui.text import t

PAGE = "real_models"

page.setup(PAGE, sizes=False, source="any", mend=maps.mend)
try:
    view, error = real.view(), None
except ValueError as refusal:
    view, error = None, refusal

if view:
    page.title(view.title(), t("real_models.look" if view.shares else "real_models.look_grouped"))
else:
    page.title(t("real_models.title_empty"), t("real_models.look_empty"))

pictures, controls = st.columns([16, 5], gap="medium")
with controls:
    if view:
        maps_controls.head_control()
        page.prose(view.kind())
        maps_controls.cell_controls(view.maps.run.words)
    source.controls(own_place=True)
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
            page.prose(t("real_models.shares_look"))
            real_charts.shares(view)
        else:
            st.info(view.missing())
    st.subheader(t("attention_maps.parts_title"), anchor=False)
    maps_charts.parts(view.maps)
    if view.shares:
        st.subheader(t("real_models.latents_title"), anchor=False)
        real_charts.latents(view)
        st.subheader(t("real_models.matrices_title"), anchor=False)
        page.prose(t("real_models.matrices_look"))
        real_charts.matrices(view)
        real_layers.section(view)
    maps_controls.listen(view.maps)
else:
    with pictures:
        if error:
            page.refused(error)
        source.demo_button()
        page.prose(t("real_models.families", families=real.families()))
        page.prose(t("real_models.demo_how"))
page.footer(PAGE)
