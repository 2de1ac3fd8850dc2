"""The choice of the variant: what MLA is compared with, and by one press what came after it."""

from functools import partial

import streamlit as st

from ui.pages.overview.view import View
from ui.pages.overview.words import is_later
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import Setting, flag
from ui.settings.visit import visit
from ui.words.text import t

SETTINGS = {"ov_later": Setting(False, flag)}  # whether those after MLA are offered, too


def choice(view: View) -> None:
    """Draw the variants; those after MLA once they are asked for, or one of them is shown."""
    every, now = view.model.variants, view.model.variant
    later = [code for code in every if is_later(code)]
    whole = view.later or is_later(now) or not later
    draw = partial(
        control,
        "variant",
        widget="segmented_control",
        label=t("overview.variant"),
        write=lambda code: t(f"common.{code}"),
        label_visibility="collapsed",
    )
    if whole:
        draw(options=every)
        return
    row = partial(st.container, horizontal=True, vertical_alignment="center", gap="small")
    with visit().places.get("variant") or row():
        draw(options=[code for code in every if code not in later], width="content")
        label, taken = t("overview.later"), {"ov_later": True}
        st.button(label, key="ov_later", type="tertiary", on_click=state.change, kwargs=taken)
