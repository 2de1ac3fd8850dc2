"""The controls of the page on rotations, its clicks and its clicker keys."""

import streamlit as st

from mla_engine.studies.conventions import PAIRING_READINGS, SCALE_READINGS
from ui.pages.rope import run, words
from ui.pages.rope.charts import CLICKABLE
from ui.pages.rope.view import TOPICS, View
from ui.parts import bridge
from ui.parts.play import Player
from ui.settings import state
from ui.words.text import t

MISTAKES = {"pairing": PAIRING_READINGS[1:], "scale": SCALE_READINGS[1:]}
PLAYERS = {
    "turning": Player("rope_query", 0, run.POSITIONS - 1),
    "merged": Player("rope_distance", 0, run.FAR),
}
SECONDS = 1.0  # between two steps


def _stop() -> None:
    for player in PLAYERS.values():
        player.stop()


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
        then=_stop,
    )


def beside(view: View) -> None:
    """What can be changed about the topic; the scale's figures where nothing can."""
    if view.topic == "yarn":
        for name, figure in words.scale(view).items():
            st.metric(t(f"rope.metric_{name}"), figure)
        return
    if view.topic in PLAYERS:
        PLAYERS[view.topic].buttons()
    match view.topic:
        case "turning":
            _positions(view)
        case "merged":
            state.control(st.slider, t("rope.distance"), "rope_distance", 0, run.FAR, then=_stop)
        case _:
            _mistake(view)
    if (last := view.head.config.n_heads - 1) > 0:
        state.control(st.number_input, t("rope.head", last=last), "rope_head", 0, last)


def _positions(view: View) -> None:
    last = run.POSITIONS - 1
    state.control(st.slider, t("rope.query_position"), "rope_query", 0, last, then=_stop)
    state.control(st.slider, t("rope.key_position"), "rope_key", 0, last, then=_stop)
    if view.head.pairs > 1:
        state.control(st.slider, t("rope.pair"), "rope_pair", 0, view.head.pairs - 1)


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
        if cell["chart"] == CLICKABLE:
            key, query = (min(run.POSITIONS - 1, max(0, round(cell[axis]))) for axis in "xy")
            _stop()
            state.change(rope_query=query, rope_key=key)

    player = PLAYERS.get(state.settings()["rope_topic"])
    bridge.listen("rope", on_cell=clicked, on_step=player and player.by_hand)


def ticking(view: View) -> None:
    """While it plays, one step on every second."""
    if view.topic in PLAYERS:
        PLAYERS[view.topic].ticking(SECONDS)
