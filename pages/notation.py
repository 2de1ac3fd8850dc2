"""Notation: every symbol with its meaning, formula, sizes, and names in paper and code."""

from functools import partial

import streamlit as st

from ui.frame import page
from ui.pages.notation import PAGE, table
from ui.pages.notation.view import lead, look, view
from ui.parts import charts, prose
from ui.parts.control import control
from ui.words.text import safe, t

with page.frame(PAGE) as frame:
    prose.title(t("notation.title"))
    try:
        here = view()
    except ValueError as error:
        here = None
        prose.refused(error)
    else:
        prose.lead(*lead(here), look())
        search, which = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
        with search:
            control("notation_search", max_chars=60)
        with which:
            control("notation_of", shown=here.of, label_visibility="collapsed")
        if here.entries:
            with st.container(key="notation_table"):
                st.markdown(table.markdown(here), unsafe_allow_html=True)
            prose.note(t("notation.sources"))
            charts.download(partial(table.glossary, here), "notation.csv")
        else:
            nothing = t("notation.nothing", text=safe(here.sought))
            st.info(nothing, icon=":material/search_off:")
    frame.view = here
