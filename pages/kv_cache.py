"""KV cache: what each way of attending keeps, where it fits, and how it is counted."""

import streamlit as st

from mla_engine import PRESETS
from ui.frame import page
from ui.pages.kv_cache import PAGE
from ui.pages.kv_cache import controls as kv_controls
from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache import views as kv_views
from ui.pages.kv_cache import words as kv_words
from ui.parts import charts, prose
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
code, scenes = state.settings()["kv_view"], kv.scenes()
view = kv_views.VIEWS[code]
try:
    prose.title(view.title(scenes[0]), view.look())
except ValueError:  # said below, beside the model that it is about
    prose.title(t("kv_cache.title_refused"), view.look())

state.control(
    st.segmented_control,
    t("kv_cache.view"),
    "kv_view",
    list(kv_views.VIEWS),
    format_func=lambda code: t(f"kv_cache.view_{code}"),
    required=True,
    label_visibility="collapsed",
)
left, right, controls = st.columns((4, 4, 2), gap="medium")
labels = {"kv_left": t("kv_cache.model_left"), "kv_right": t("kv_cache.model_right")}
for place, scene, name in zip((left, right), scenes, labels, strict=True):
    with place:
        state.control(
            st.selectbox, labels[name], name, list(PRESETS), format_func=lambda k: PRESETS[k].name
        )
        try:
            view.draw(scene, name)
        except ValueError as error:
            prose.refused(error)
with controls:
    kv_controls.draw(code)

with st.expander(t("kv_cache.sources")):
    for scene in scenes:
        st.markdown(f"**{scene.preset.name}** {kv_words.notes(scene)}")
        st.caption(scene.preset.source)
charts.download(kv_views.data(code, scenes), kv_views.file(code))
page.footer(scenes)
