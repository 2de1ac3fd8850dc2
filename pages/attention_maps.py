"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from."""

import streamlit as st

from ui.frame import page, panels
from ui.pages.attention_maps import PAGE, controls, heads, logits, long, origin, tensor, whole
from ui.pages.attention_maps.heads import Shown
from ui.pages.attention_maps.view import is_whole
from ui.parts import prose, questions
from ui.settings.visit import visit
from ui.sources.small_model import AS_TRAINED


def storyboard() -> Shown | None:
    """Draw the page; where the app's own model cannot read the text, only its box."""
    panel, kind = heads.PANEL, heads.kind(None)
    prose.title(panel.title(None))
    if visit().failed and AS_TRAINED.reads():  # which is told above the title
        controls.who_reads()
        return None
    try:
        view = long.chosen(long.progress(st.empty())) if kind is long else PAGE.view()
    except ValueError as refusal:
        controls.who_reads()
        kind.refused(refusal)
        return None
    prose.lead(*panel.lead(view), panel.look(view))
    questions.ask(panel.question, view)
    above, first, below = st.container(), st.container(), st.container()
    with above:
        controls.who_reads(below)
    with first:
        panels.body(PAGE, panel, view)
    if is_whole(view):
        whole.pooled(view)
        panels.section(PAGE, logits.PANEL, view)
        with st.container(key="cell_numbers"), prose.refusals():
            for column, one in zip(
                st.columns(2, gap="large"), (origin.PANEL, tensor.PANEL), strict=True
            ):
                with column:
                    panels.section(PAGE, one, view)
    elif kind is not long:
        panels.section(PAGE, tensor.PANEL, view)
    return view


page.show(PAGE, storyboard)
