"""Notation: every symbol with its meaning, formula, sizes, and names in paper and code."""

import streamlit as st

from ui import notation, page, state
from ui.text import safe, t

PAGE = "notation"

page.setup(PAGE)
try:
    shown = notation.entries()
    page.title(notation.title(), notation.look())
except ValueError as error:
    page.title(t("notation.title_refused"), "")
    page.refused(error)
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
page.footer(PAGE)
