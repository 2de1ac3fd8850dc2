"""Notation: every symbol with its meaning, formula, sizes, and names in paper and code."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.notation import PAGE, tables, words
from ui.pages.notation.view import CHOICES, view
from ui.parts import charts, prose
from ui.parts.choice import choice
from ui.settings import state
from ui.words.text import safe, t

with page.frame(PAGE) as frame:
    prose.title(t("notation.title"))
    try:
        here = view()
    except ValueError as error:
        here = None
        prose.refused(error)
    else:
        prose.lead(*words.lead(here), words.look())
        search, which = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
        with search:
            state.control(st.text_input, t("notation.search"), "notation_search", max_chars=60)
        with which:
            choice(
                st.segmented_control,
                t("notation.of"),
                "notation_of",
                here.of,
                CHOICES,
                format_func=lambda code: t(f"notation.of_{code}"),
                required=True,
                label_visibility="collapsed",
            )
        if here.entries:
            with st.container(key="notation_table"):
                st.markdown(tables.markdown(here), unsafe_allow_html=True)
            prose.note(t("notation.sources"))
            charts.download(partial(tables.glossary, here), "notation.csv")
        else:
            nothing = t("notation.nothing", text=safe(here.sought))
            st.info(nothing, icon=":material/search_off:")
    frame.view = here
