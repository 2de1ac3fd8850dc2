"""Play: one setting goes on by itself, a step every few seconds, until it is paused or ends."""

import time
from dataclasses import dataclass

import streamlit as st

from ui.settings import state
from ui.words.text import t


@dataclass(frozen=True)
class Player:
    """Moves the setting `setting` from `first` to `last`, by itself or by hand."""

    setting: str
    first: int
    last: int

    @property
    def at(self) -> int:
        """Where it is."""
        return state.settings()[self.setting]

    @property
    def playing(self) -> bool:
        """Whether it goes on by itself."""
        return st.session_state.get(f"{self.setting}:playing", False)

    def stop(self) -> None:
        """Pause, after any change by hand."""
        st.session_state[f"{self.setting}:playing"] = False

    def move(self, by: int) -> None:
        """Some steps on or back, within those there are."""
        state.change(**{self.setting: min(self.last, max(self.first, self.at + by))})

    def by_hand(self, by: int) -> None:
        """Move as a button or a key asks; the play ends."""
        self.stop()
        self.move(by)

    def _set(self, playing: bool) -> None:
        """What the button said when it was drawn: a click that is told twice changes nothing."""
        st.session_state[f"{self.setting}:playing"] = playing
        if playing and self.at == self.last:
            state.change(**{self.setting: self.first})

    def buttons(self) -> None:
        """Back, play or pause, on."""
        label = t("play.pause") if self.playing else t("play.play")
        ways = (("back", -1, self.at == self.first), ("on", 1, self.at == self.last))
        with st.container(horizontal=True, gap="small"):
            back, on = (
                {"label": t(f"play.{name}"), "args": (by,), "disabled": nowhere}
                | {"key": f"{self.setting}_{name}", "on_click": self.by_hand}
                for name, by, nowhere in ways
            )
            st.button(**back)
            key = f"{self.setting}_play"
            way = {"on_click": self._set, "args": (not self.playing,)}
            st.button(label, key=key, type="primary", **way)
            st.button(**on)

    def ticking(self, seconds: float) -> None:
        """While it plays, a step every few seconds; drawn last, so that a step is done first."""
        st.session_state[f"{self.setting}:due"] = time.monotonic() + seconds / 2
        st.fragment(self.tick, run_every=seconds if self.playing else None)()

    def tick(self) -> None:
        """One step on if it plays and this is not the run that drew the page."""
        if not self.playing or time.monotonic() < st.session_state[f"{self.setting}:due"]:
            return
        self.move(1)
        if self.at == self.last:
            self.stop()
        st.rerun()
