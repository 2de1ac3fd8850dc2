"""The preset picker and the sliders of the shared sizes."""

import streamlit as st

from mla_engine import PRESETS, mechanisms
from ui.engine import model
from ui.engine.real_layer import chosen
from ui.parts import real_layer
from ui.settings import state
from ui.settings.parsers import SMALL
from ui.settings.visit import visit
from ui.words.text import t


def controls() -> None:
    """The preset picker and the sliders of the sizes that the present variant has.

    A real layer stands in for both where the page can use one.
    """
    s = state.settings()
    if visit().page.real_layers:
        real_layer.controls()
        if chosen():
            return
    state.control(
        st.selectbox,
        t("common.preset"),
        "preset",
        [SMALL, *PRESETS],
        format_func=model.preset_name,
        then=model.take_preset,
    )
    if model.present().changed:
        st.caption(t("common.sizes_changed", name=model.preset_name(s["preset"])))
    if s["preset"] != SMALL and PRESETS[s["preset"]].not_modelled:
        st.caption(model.not_modelled(s["preset"]))
    for name in mechanisms.variants()[s["variant"]].sizes:
        options = model.ladder(name)
        if len(options) > 1:
            values = sorted({*options, s[name]})
            state.control(st.select_slider, t(f"common.{name}"), name, values, then=model.mend)
