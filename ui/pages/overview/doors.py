"""Three ways in, by what a visitor has come for, each to three pages."""

import streamlit as st

from ui.parts import links
from ui.settings.page import Link
from ui.words.text import t

DOORS = {
    "understand": ("worked_example", "attention_maps", "absorption"),
    "lecture": ("compare", "kv_cache", "quiz"),
    "plan": ("kv_cache", "planner", "compute"),
}


def doors() -> None:
    """Draw for each kind of visitor what it is and the pages to begin with."""
    with st.container(key="doors"):
        places = st.columns(len(DOORS))
    for place, (visitor, pages) in zip(places, DOORS.items(), strict=True):
        with place.container(border=True, gap="xxsmall"):
            st.markdown(f"**{t(f'overview.door_{visitor}')}**")
            for page in pages:
                link = Link(page)
                key = f"door_{visitor}_{page}"
                ahead = {"type": "tertiary", "icon": ":material/arrow_forward:"}
                st.button(links.name(link), key=key, on_click=links.follow, args=(link,), **ahead)
