"""The controls of the page on rotations, its clicks and its clicker keys."""

import streamlit as st

from mla_engine.studies.conventions import PAIRING_READINGS, SCALE_READINGS
from ui.pages.rope import run, turns, words
from ui.pages.rope.view import TOPICS, View
from ui.parts import bridge
from ui.parts.motion import Dial
from ui.settings import state
from ui.words.text import t

MISTAKES = {"pairing": PAIRING_READINGS[1:], "scale": SCALE_READINGS[1:]}


def topics() -> None:
    """Which of the page's ideas is shown."""
    state.control(
        st.segmented_control,
        t("rope.topic"),
        "rope_topic",
        TOPICS,
        format_func=lambda code: t(f"rope.topic_{code}"),
        required=True,
        label_visibility="collapsed",
    )


def beside(view: View) -> None:
    """What can be changed about the topic; the scale's figures where nothing can."""
    if view.topic == "yarn":
        for name, figure in words.scale(view).items():
            st.metric(t(f"rope.metric_{name}"), figure)
        return
    match view.topic:
        case "turning" if view.head.pairs > 1:
            state.control(st.slider, t("rope.pair"), "rope_pair", 0, view.head.pairs - 1)
        case "turning":
            pass
        case "merged":
            state.control(st.slider, t("rope.distance"), "rope_distance", 0, run.FAR)
        case _:
            _mistake(view)
    if (last := view.head.config.n_heads - 1) > 0:
        state.control(st.number_input, t("rope.head", last=last), "rope_head", 0, last)


def _mistake(view: View) -> None:
    state.control(
        st.radio,
        t(f"rope.{view.topic}_mistake"),
        f"rope_{view.topic}",
        MISTAKES[view.topic],
        format_func=lambda code: t(f"rope.{view.topic}_{code}"),
    )
    if view.topic == "pairing":
        state.control(st.number_input, t("rope.start"), "rope_start", 0, 100_000)


def listen() -> None:
    """A click on the scores chooses two positions; a clicker goes on by one position."""

    def clicked(cell: dict) -> None:
        if cell["chart"] == turns.CLICKABLE:
            key, query = (min(run.POSITIONS - 1, max(0, round(cell[axis]))) for axis in "xy")
            state.change(rope_query=query, rope_key=key)

    topic = state.settings()["rope_topic"]
    moved = _moved(topic)
    step = moved and moved.move
    bridge.listen("rope", on_cell=clicked, on_step=step, moves=topic == "turning")


def _moved(topic: str) -> Dial | None:
    """What a clicker moves."""
    if topic == "turning":
        return turns.dials()[0]
    if topic == "merged":
        return Dial("rope_distance", t("rope.distance"), range(run.FAR + 1))
    return None
