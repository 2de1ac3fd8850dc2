"""The controls of the decode page: back, play or pause, on, and what is decoded."""

import time

import streamlit as st

from ui import bridge, state
from ui.decode import PROMPTS
from ui.decode_run import ROOM
from ui.text import count, t

INTERVALS = {"slow": 4.0, "normal": 2.0, "fast": 1.0}  # seconds between two steps


def move(by: int) -> None:
    """Another step, within those there are."""
    state.change(dec_step=min(ROOM, max(1, state.settings()["dec_step"] + by)))


def _play(playing: bool) -> None:
    st.session_state.dec_playing = playing
    if playing and state.settings()["dec_step"] == ROOM:
        state.change(dec_step=1)


def stop() -> None:
    """Pause after a change by hand."""
    st.session_state.dec_playing = False


def _by_hand(by: int) -> None:
    stop()
    move(by)


def transport() -> None:
    """Back, play or pause, on; the speed; the step itself. A clicker's keys step as well."""
    step, playing = state.settings()["dec_step"], st.session_state.get("dec_playing", False)
    with st.container(horizontal=True, gap="small"):
        back, on = t("decode.back"), t("decode.on")
        st.button(back, key="dec_back", on_click=_by_hand, args=(-1,), disabled=step == 1)
        label = t("decode.pause") if playing else t("decode.play")
        st.button(label, key="dec_play", on_click=_play, args=(not playing,), type="primary")
        st.button(on, key="dec_on", on_click=_by_hand, args=(1,), disabled=step == ROOM)
    state.control(st.slider, t("decode.step", of=ROOM), "dec_step", 1, ROOM, then=stop)
    state.control(
        st.segmented_control,
        t("decode.speed"),
        "dec_speed",
        list(INTERVALS),
        format_func=lambda code: t(f"decode.speed_{code}"),
        required=True,
    )
    bridge.listen("dec_keys", on_step=_by_hand)


def run_settings(n_heads: int) -> None:
    """The prompt's length and the heads that are run."""
    state.control(
        st.select_slider, t("decode.prompt"), "dec_prompt", PROMPTS, format_func=count, then=stop
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
    """While it plays, one step on every few seconds; drawn last, so that a step is done first."""
    interval = INTERVALS[state.settings()["dec_speed"]]
    playing = st.session_state.get("dec_playing", False)
    st.session_state.dec_due = time.monotonic() + interval / 2
    st.fragment(tick, run_every=interval if playing else None)()


def tick() -> None:
    """One step on if it plays and this is not the run that drew the page."""
    if not st.session_state.get("dec_playing") or time.monotonic() < st.session_state.dec_due:
        return
    move(1)
    st.session_state.dec_playing = state.settings()["dec_step"] < ROOM
    st.rerun()
