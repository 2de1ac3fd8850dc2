"""Absorption: the order of multiplication, the merged matrices, and what must not be merged."""

import streamlit as st

from ui.frame import page
from ui.pages.absorption import PAGE, brackets, controls, merged, merges, rounding, words
from ui.pages.absorption import view as absorption
from ui.parts import prose
from ui.words.text import t

SECTIONS = {
    "merged": merged.section,
    "rounding": rounding.section,
    "heads_in_one": merges.heads_in_one,
    "past_the_norm": merges.past_the_norm,
}

page.setup(PAGE)
prose.title(t("absorption.title"))
view = None
try:
    view = absorption.view()
    prose.lead(*words.lead(view), t(f"absorption.look_{view.side}"))
except ValueError as refusal:
    prose.refused(refusal)

picture, bars, panel = st.columns([6, 6, 4], gap="medium")
with picture:
    controls.product()
with panel:
    controls.lengths()
if view:
    with panel:
        st.markdown(words.verdict(view))
        st.caption(t("absorption.counted"))
    with picture:
        brackets.picture(view)
    with bars:
        brackets.work(view)
        brackets.traffic(view)
    for name, section in SECTIONS.items():
        st.subheader(t(f"absorption.section_{name}"), anchor=False)
        try:
            section(view)
        except ValueError as refusal:
            prose.refused(refusal)

page.footer(view)
