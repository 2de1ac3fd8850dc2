"""Lecture mode: larger type, the sidebar out of sight, a slim bar, clicker keys."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from ui import bridge, share, state, tour
from ui.text import t

ASSETS = Path(__file__).parent.parent / "assets"
STYLE, SCRIPT = ASSETS / "lecture.css", ASSETS / "lecture.js"

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
    "compare": ("vs_view", "vs_right"),
    "claims": ("claims_verdict", "claims_source"),
    "quiz": ("quiz_seed", "quiz_count"),
    "notation": ("notation_search", "notation_of"),
    "real_models": ("source", "layer", "map_head"),
}


def on() -> bool:
    """Whether lecture mode is on."""
    return state.settings()["lecture"]


def button() -> None:
    """In the navigation: begin."""
    start = partial(state.change, lecture=True)
    st.button(t("lecture.start"), icon=":material/co_present:", on_click=start, width="stretch")


def bar(page: str, number: int, pages: dict[str, str]) -> None:
    """The page's two controls, the place, the ways on and out; `number` is the tour's stop."""
    st.html(STYLE)
    place, count = number, len(tour.stops())
    if not number:
        place, count = list(pages).index(page) + 1, len(pages)
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center"):
        st.session_state.places = {
            name: st.container(key=f"lecture_slot_{name}", horizontal=True)
            for name in CONTROLS[page]
            if name != "source" or not state.settings()["source"]  # once chosen, it rests
        }
        with st.container(
            key="lecture_ways", horizontal=True, gap="xsmall", vertical_alignment="center"
        ):
            _way("previous", "chevron_left", turn, -1, pages, disabled=place == 1)
            st.markdown(f"{place} / {count}", width="content")
            _way("next", "chevron_right", turn, 1, pages, disabled=place == count)
            share.button("lecture_share", help=t("share.button"), type="tertiary")
            _way("leave", "close", leave)
        _frame()
        if number:
            tour.listen(pages)
    if number:
        st.container(key="lecture_says").markdown(tour.sentence(number))


def _way(
    name: str, icon: str, act: Callable[..., None], *args: object, disabled: bool = False
) -> None:
    """A button whose words are for the ear and the tooltip."""
    label = t(f"lecture.{name}")
    st.button(
        label,
        icon=f":material/{icon}:",
        key=f"lecture_{name}",
        help=label,
        on_click=act,
        args=args,
        disabled=disabled,
        type="tertiary",
    )


def _frame() -> None:
    """Fits the main picture to the screen and listens to Escape."""
    frame = st.components.v2.component("lecture_frame", js=SCRIPT.read_text("utf-8"))
    frame(key="lecture_frame", on_escape_change=leave)


def leave() -> None:
    """Back to the page as it was."""
    state.change(lecture=False)


def turn(by: int, pages: dict[str, str]) -> None:
    """On by a stop of the tour; outside it by a page in lecture order."""
    if state.settings()["stop"]:
        tour.turn(by, pages)
        return
    files = list(pages.values())
    place = list(pages).index(st.session_state.page) + by
    state.go(files[min(len(files) - 1, max(0, place))], **state.query())


def keys(pages: dict[str, str]) -> None:
    """Let a clicker turn the pages where nothing else on the page listens to it."""
    st.session_state.beyond = partial(turn, pages=pages) if on() else None
    if on() and not st.session_state.stepping:
        bridge.listen("lecture_keys", on_step=partial(turn, pages=pages))
