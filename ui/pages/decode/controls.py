"""The controls of the decode page: back, play or pause, on, and what is decoded."""

import streamlit as st

from ui.engine.model import present
from ui.pages.decode.view import prompts, room
from ui.parts import bridge
from ui.parts.motion import Dial
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

SPEEDS = ("slow", "normal", "fast")
HEADS = (0, *(2**n for n in range(8)))  # to be run; 0 is as many as take a moment


def dial() -> Dial:
    """It moves the step, as far as there are tokens."""
    last = room(present())
    return Dial("dec_step", t("decode.step", of=last), range(1, last + 1))


def speed() -> None:
    """How fast the picture plays. A clicker's keys step."""
    state.control(
        st.segmented_control,
        t("decode.speed"),
        "dec_speed",
        SPEEDS,
        format_func=lambda code: t(f"decode.speed_{code}"),
        required=True,
    )
    bridge.listen("dec_keys", on_step=dial().move, moves=True)


def run_settings(most_heads: int) -> None:
    """The prompt's length and the heads that are run."""
    if len(lengths := prompts(present())) > 1:
        state.control(
            st.select_slider,
            t("decode.prompt"),
            "dec_prompt",
            lengths,
            format_func=count,
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
