"""The controls of the page on rotations, its clicks and its clicker keys."""

import streamlit as st

from mla_engine.studies.conventions import PAIRING_READINGS, SCALE_READINGS
from ui.pages.rope import view as rope
from ui.pages.rope import words as rope_words
from ui.pages.rope.view import Head
from ui.parts import bridge
from ui.parts.play import Player
from ui.settings import state
from ui.words.text import t

READINGS = {"pairing": PAIRING_READINGS[1:], "scale": SCALE_READINGS[1:]}
PLAYERS = {
    "turning": Player("rope_query", 0, rope.POSITIONS - 1),
    "merged": Player("rope_distance", 0, rope.FAR),
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
        rope.TOPICS,
        format_func=lambda code: t(f"rope.topic_{code}"),
        required=True,
        label_visibility="collapsed",
        then=_stop,
    )


def of_topic(one: Head, topic: str) -> None:
    """What can be changed about this topic."""
    last = rope.POSITIONS - 1
    if topic in PLAYERS:
        PLAYERS[topic].buttons()
    if topic == "turning":
        state.control(st.slider, t("rope.query_position"), "rope_query", 0, last, then=_stop)
        state.control(st.slider, t("rope.key_position"), "rope_key", 0, last, then=_stop)
        if one.pairs > 1:
            state.control(st.slider, t("rope.pair"), "rope_pair", 0, one.pairs - 1)
    elif topic == "merged":
        state.control(st.slider, t("rope.distance"), "rope_distance", 0, rope.FAR, then=_stop)
    elif topic in READINGS:
        state.control(
            st.radio,
            t(f"rope.{topic}_mistake"),
            f"rope_{topic}",
            READINGS[topic],
            format_func=lambda code: t(f"rope.{topic}_{code}"),
        )
        if topic == "pairing":
            state.control(st.number_input, t("rope.start"), "rope_start", 0, 100_000)
    if topic == "yarn":
        for name, figure in rope_words.scale(one).items():
            st.metric(t(f"rope.metric_{name}"), figure)
    elif one.config.n_heads > 1:
        most = one.config.n_heads - 1
        state.control(st.number_input, t("rope.head", last=most), "rope_head", 0, most)


def listen(topic: str) -> None:
    """A click on the scores chooses two positions; a clicker turns on by one position."""

    def clicked(cell: dict) -> None:
        if cell["chart"] == "rope_scores":
            key, query = (min(rope.POSITIONS - 1, max(0, round(cell[axis]))) for axis in "xy")
            _stop()
            state.change(rope_query=query, rope_key=key)

    player = PLAYERS.get(topic)
    bridge.listen("rope", on_cell=clicked, on_step=player and player.by_hand)


def ticking(topic: str) -> None:
    """While it plays, one step on every second."""
    if topic in PLAYERS:
        PLAYERS[topic].ticking(SECONDS)
