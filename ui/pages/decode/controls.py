"""The controls of the decode page: back, play or pause, on, and what is decoded."""

import streamlit as st

from ui.engine.model import present
from ui.pages.decode.view import prompts, room
from ui.parts import bridge
from ui.parts.play import Player
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

INTERVALS = {"slow": 4.0, "normal": 2.0, "fast": 1.0}  # seconds between two steps
HEADS = (0, *(2**n for n in range(8)))  # to be run; 0 is as many as take a moment


def player() -> Player:
    """It moves the step, as far as there are tokens."""
    return Player("dec_step", 1, room(present()))


def transport() -> None:
    """Back, play or pause, on; the step itself; the speed. A clicker's keys step as well."""
    moved = player()
    moved.buttons()
    last = moved.last
    if last > 1:
        label = t("decode.step", of=last)
        state.control(st.slider, label, "dec_step", 1, last, then=moved.stop)
    state.control(
        st.segmented_control,
        t("decode.speed"),
        "dec_speed",
        list(INTERVALS),
        format_func=lambda code: t(f"decode.speed_{code}"),
        required=True,
    )
    bridge.listen("dec_keys", on_step=moved.by_hand)


def run_settings(most_heads: int) -> None:
    """The prompt's length and the heads that are run."""
    if len(lengths := prompts(present())) > 1:
        state.control(
            st.select_slider,
            t("decode.prompt"),
            "dec_prompt",
            lengths,
            format_func=count,
            then=player().stop,
        )
    chosen = state.settings()["dec_heads"]
    ladder = {n for n in HEADS if n <= most_heads} | {chosen}
    state.control(
        st.select_slider,
        t("decode.heads"),
        "dec_heads",
        sorted(ladder),
        format_func=lambda n: count(n) if n else t("decode.automatic"),
    )


def ticking() -> None:
    """While it plays, one step on every few seconds."""
    player().ticking(INTERVALS[state.settings()["dec_speed"]])
