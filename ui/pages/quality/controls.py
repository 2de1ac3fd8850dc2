"""The widgets of the page quality: which task, and how much it asks to hold."""

import streamlit as st

from mla_engine.language_model.texts import TASKS
from ui.pages.quality.settings import EVERY_LOAD, EVERY_TASK
from ui.pages.quality.view import View, loads
from ui.parts.choice import choice
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t


def draw(view: View) -> None:
    """Task and load; another task begins with all of its loads together."""
    state.control(
        st.selectbox,
        t("quality.task"),
        "quality_task",
        [EVERY_TASK, *TASKS],
        format_func=lambda code: t(f"quality.task_{code}"),
        then=lambda: state.change(quality_load=EVERY_LOAD),
    )
    choice(
        st.segmented_control,
        t(f"quality.load_{view.task}"),
        "quality_load",
        view.load,
        [EVERY_LOAD, *loads(view.task)],
        format_func=lambda load: t("quality.every") if load == EVERY_LOAD else count(load),
        required=True,
    )
