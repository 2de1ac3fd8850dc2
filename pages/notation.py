"""Notation: every symbol with its meaning, formula, sizes, and names in paper and code."""

import streamlit as st

from ui.frame import page
from ui.pages.notation import PAGE
from ui.pages.notation import view as notation
from ui.parts import prose
from ui.settings import state
from ui.words.text import safe, t

page.setup(PAGE)
try:
    shown = notation.entries()
    prose.title(notation.title(), notation.look())
except ValueError as error:
    shown = None
    prose.title(t("notation.title_refused"), "")
    prose.refused(error)
else:
    search, choice = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with search:
        state.control(st.text_input, t("notation.search"), "notation_search", max_chars=60)
    with choice:
        state.control(
            st.segmented_control,
            t("notation.of"),
            "notation_of",
            ["all", "present", "cached"],
            format_func=lambda code: t(f"notation.of_{code}"),
            required=True,
            label_visibility="collapsed",
        )
    if shown:
        with st.container(key="notation_table"):
            st.markdown(notation.markdown(shown), unsafe_allow_html=True)
        st.caption(t("notation.sources"))
        notation.download(shown)
    else:
        text = safe(state.settings()["notation_search"])
        st.info(t("notation.nothing", text=text), icon=":material/search_off:")
page.footer(shown)
