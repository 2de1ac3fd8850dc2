"""Lecture mode: larger type, the sidebar out of sight, a slim bar, clicker keys."""

from functools import partial
from pathlib import Path

import streamlit as st

from ui import bridge, state, tour
from ui.text import t

STYLE = Path(__file__).parent.parent / "assets" / "lecture.css"

# The controls that stand in the bar, of each view of a page its two most important ones.
CONTROLS = {
    "overview": ("variant", "preset"),
    "worked_example": ("we_variant", "we_step"),
    "attention_maps": ("map_head", "map_query"),
    "rope": ("rope_topic", "rope_query", "rope_distance"),
    "absorption": ("ab_order", "ab_queries"),
    "compression": ("cmp_rank", "cmp_weights"),
    "kv_cache": ("kv_view", "kv_context"),
    "decode": ("dec_step", "dec_prompt"),
    "compute": ("cost_phase", "cost_queries"),
    "compare": ("vs_left", "vs_right"),
    "claims": ("claims_verdict", "claims_source"),
    "quiz": ("quiz_seed", "quiz_count"),
    "notation": ("notation_search", "notation_of"),
}


def on() -> bool:
    """Whether lecture mode is on."""
    return state.settings()["lecture"]


def button() -> None:
    """In the navigation: begin."""
    start = partial(state.change, lecture=True)
    st.button(t("lecture.start"), icon=":material/co_present:", on_click=start, width="stretch")


def bar(page: str, number: int, pages: dict[str, str]) -> None:
    """Place, the page's two controls, the ways on and out; `number` is the stop of the tour."""
    st.html(STYLE)
    names = list(pages)
    place, count = (number, len(tour.stops())) if number else (names.index(page) + 1, len(pages))
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{place} / {count}**", width="content")
        places = {name: st.container(key=f"lecture_{name}") for name in CONTROLS[page]}
        st.session_state.places = places
        with st.container(key="lecture_ways", horizontal=True, gap="xsmall", width="content"):
            for name, icon, by in (("previous", "chevron_left", -1), ("next", "chevron_right", 1)):
                st.button(
                    t(f"lecture.{name}"),
                    icon=f":material/{icon}:",
                    key=f"lecture_{name}",
                    on_click=turn,
                    args=(by, pages),
                    disabled=not 1 <= place + by <= count,
                )
            st.button(
                t("lecture.leave"), icon=":material/close:", key="lecture_leave", on_click=leave
            )
        bridge.listen("lecture_escape", on_escape=leave)
        if number:
            tour.listen(pages)
    if number:
        st.container(key="lecture_says").markdown(tour.sentence(number))


def leave() -> None:
    """Back to the page as it was."""
    state.change(lecture=False)


def turn(by: int, pages: dict[str, str]) -> None:
    """On by a stop of the tour; outside it by a page in lecture order."""
    stop = state.settings()["stop"]
    if stop:
        tour.go(max(1, stop + by), pages)
        return
    files = list(pages.values())
    place = list(pages).index(st.session_state.page) + by
    state.go(files[min(len(files) - 1, max(0, place))], **state.query())


def keys(pages: dict[str, str]) -> None:
    """Let a clicker turn the pages where nothing else on the page listens to it."""
    if on() and not st.session_state.stepping:
        bridge.listen("lecture_keys", on_step=partial(turn, pages=pages))
