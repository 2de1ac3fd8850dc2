"""KV cache: how it grows with the context in MHA, GQA, MQA and MLA, two models side by side."""

from functools import partial

import streamlit as st

from mla_engine import PRESETS
from mla_engine.figures import cache_growth
from ui import kv, kv_words, page, state
from ui.text import count, t

page.setup("kv_cache", sizes=False)
chosen, scenes, contexts = state.settings(), kv.scenes(), kv.contexts()
page.title(kv_words.headline(scenes[0]), kv_words.look())

left, right, controls = st.columns((4, 4, 2), gap="medium")
labels = {"kv_left": t("kv_cache.model_left"), "kv_right": t("kv_cache.model_right")}
words = {
    "context": t("kv_cache.axis_context"),
    "cache": t("kv_cache.axis_cache"),
    "measured": t("kv_cache.measured"),
}
for place, scene, name in zip((left, right), scenes, labels, strict=True):
    with place:
        state.control(
            st.selectbox, labels[name], name, list(PRESETS), format_func=lambda k: PRESETS[k].name
        )
        figure = cache_growth(
            contexts,
            scene.curves(contexts),
            points=scene.points(),
            log=chosen["kv_log"],
            unit=chosen["kv_unit"],
            limits=kv.limits(),
            at=chosen["kv_context"],
            words=words,
        )
        st.plotly_chart(figure, width="stretch", key=f"{name}:chart", alt=kv_words.alt(scene))
        st.table(kv_words.table(scene))
        st.markdown(kv_words.product(scene))
        st.markdown(kv_words.baseline(scene))
        for sentence in kv_words.limitations(scene):
            st.markdown(sentence)

with controls:
    state.control(
        st.select_slider, t("kv_cache.context"), "kv_context", kv.LENGTHS, format_func=count
    )
    state.control(st.slider, t("kv_cache.groups"), "kv_groups", 1, 128)
    state.control(
        st.select_slider,
        t("kv_cache.layers"),
        "kv_layers",
        range(127),
        format_func=lambda n: count(n) if n else t("kv_cache.all_layers"),
    )
    state.control(st.select_slider, t("kv_cache.batch"), "kv_batch", kv.BATCHES, format_func=count)
    state.control(
        st.segmented_control,
        t("kv_cache.type"),
        "kv_type",
        list(kv.WIDTHS),
        format_func=lambda code: t("kv_cache.four_bit") if code == "int4" else code,
        required=True,
    )
    state.control(st.segmented_control, t("kv_cache.unit"), "kv_unit", ["GiB", "GB"], required=True)
    st.caption(t("kv_cache.unit_note"))
    state.control(st.toggle, t("kv_cache.log"), "kv_log")
    st.caption(kv_words.measured(scenes[0]))

with st.expander(t("kv_cache.sources")):
    for scene in scenes:
        st.markdown(f"**{scene.preset.name}** {kv_words.notes(scene)}")
        st.caption(scene.preset.source)
page.download(partial(kv.download, scenes), "kv_cache.csv")
page.footer("kv_cache")
