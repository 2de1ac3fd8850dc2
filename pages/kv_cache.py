"""KV cache: what each way of attending keeps, where it fits, and how it is counted."""

from contextlib import suppress

import streamlit as st

from ui.frame import page, panels
from ui.pages.kv_cache import PAGE, common, own, shown
from ui.pages.kv_cache.view import View
from ui.parts import prose, questions
from ui.parts.control import control
from ui.words.text import t


def storyboard() -> View | None:
    """Draw the page: of its panels the one that is chosen."""
    view, computed = PAGE.view(), None
    panel = shown(view)
    prose.title(panel.title(view))
    with suppress(ValueError):  # said below, beside the model that it is about
        prose.lead(*panel.lead(view), panel.look(view))
        questions.ask(panel.question, view)
        computed = view

    own.section(view)
    control("kv_view", label_visibility="collapsed")
    panels.body(PAGE, panel, view)
    with st.expander(t("kv_cache.sources")):
        for scene in view.scenes:
            prose.say(f"**{scene.preset.name}** {common.notes(view, scene)}")
            prose.note(scene.preset.source)
    return computed


page.show(PAGE, storyboard)
