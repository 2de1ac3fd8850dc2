"""KV cache: what each way of attending keeps, where it fits, and how it is counted."""

from contextlib import suppress
from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.kv_cache import PAGE, TOPICS, common, context, own
from ui.pages.kv_cache.view import view
from ui.parts import charts, prose, questions
from ui.parts.control import control
from ui.words.text import t

with page.frame(PAGE) as frame:
    shown = view()
    topic = TOPICS[shown.topic]
    prose.title(topic.title(shown))
    computed = None
    with suppress(ValueError):  # said below, beside the model that it is about
        prose.lead(*topic.lead(shown), topic.look(shown))
        questions.ask(context.question, shown)
        computed = shown

    own.section(shown)
    control("kv_view", label_visibility="collapsed")
    with st.container(key="beside"):
        left, right, beside = st.columns((4, 4, 2), gap="medium")
    sides = "kv_left", "kv_right"
    for place, scene, side in zip((left, right), shown.scenes, sides, strict=True):
        with place:
            common.choose_model(side, scene)
            try:
                topic.draw(shown, scene, side)
            except ValueError as error:
                prose.refused(error)
    with beside:
        common.controls(shown, topic.CONTROLS)
        context.dots(shown)

    with st.expander(t("kv_cache.sources")):
        for scene in shown.scenes:
            prose.say(f"**{scene.preset.name}** {common.notes(shown, scene)}")
            prose.note(scene.preset.source)
    charts.download(partial(topic.data, shown), topic.FILE)
    frame.view = computed
