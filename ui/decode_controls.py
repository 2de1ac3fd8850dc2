"""The controls of the decode page: back, play or pause, on, and what is decoded."""

import streamlit as st

from ui import bridge, state
from ui.decode import PROMPTS
from ui.decode_run import ROOM
from ui.play import Player
from ui.text import count, t

INTERVALS = {"slow": 4.0, "normal": 2.0, "fast": 1.0}  # seconds between two steps
PLAYER = Player("dec_step", 1, ROOM)


def transport() -> None:
    """Back, play or pause, on; the step itself; the speed. A clicker's keys step as well."""
    PLAYER.buttons()
    state.control(st.slider, t("decode.step", of=ROOM), "dec_step", 1, ROOM, then=PLAYER.stop)
    state.control(
        st.segmented_control,
        t("decode.speed"),
        "dec_speed",
        list(INTERVALS),
        format_func=lambda code: t(f"decode.speed_{code}"),
        required=True,
    )
    bridge.listen("dec_keys", on_step=PLAYER.by_hand)


def run_settings(n_heads: int) -> None:
    """The prompt's length and the heads that are run."""
    state.control(
        st.select_slider,
        t("decode.prompt"),
        "dec_prompt",
        PROMPTS,
        format_func=count,
        then=PLAYER.stop,
    )
    chosen = state.settings()["dec_heads"]
    ladder = {n for n in (0, 1, 2, 4, 8, 16, 32, 64, 128) if n <= n_heads} | {chosen}
    state.control(
        st.select_slider,
        t("decode.heads"),
        "dec_heads",
        sorted(ladder),
        format_func=lambda n: count(n) if n else t("decode.automatic"),
    )


def ticking() -> None:
    """While it plays, one step on every few seconds."""
    PLAYER.ticking(INTERVALS[state.settings()["dec_speed"]])
