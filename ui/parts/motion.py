"""Pictures that move in the browser: dials, play and steps, without a frame from the server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from mla_engine.figures import symbol_parts
from ui import ASSETS, asset
from ui.parts.charts import Table, download
from ui.settings import state
from ui.settings.page import Stops
from ui.words.text import t

# The library by which pictures move. It stands in an element of its own that no change alters: with
# each change only a picture's own script and numbers are sent.
LIBRARY = ASSETS / "vendor/anime-4.4.1.umd.min.js"
NOTHING = "\nexport default () => {};"
TURNS = 2**31  # the most that a browser may say it has told


@dataclass(frozen=True)
class Dial:
    """A setting that the reader moves in the picture.

    Args:
        setting: its name.
        label: what stands beside it.
        values: what it can be, one place after another; numbers that follow one another, or any.
        choices: where it is chosen, the label of each value as HTML.
    """

    setting: str
    label: str
    values: Sequence[Any]
    choices: tuple[str, ...] = ()

    @property
    def place(self) -> int:
        """The place of its present value."""
        return self.values.index(state.settings()[self.setting])

    def data(self) -> dict[str, Any]:
        """Return what the browser gets of it."""
        shown = {"label": self.label, "count": len(self.values)}
        return shown | ({"choices": self.choices} if self.choices else {"first": self.values[0]})

    def stops(self) -> Stops:
        """Return its places as a clicker's stops."""

        def go(code: str) -> None:
            state.change(**{self.setting: self.values[int(code)]})

        return Stops(tuple(map(str, range(len(self.values)))), self.place, go)


def show(
    picture: str,
    key: str,
    dials: Sequence[Dial],
    data: Mapping[str, Any],
    *,
    table: Table,
    file: str,
    seconds: float = 0.0,
) -> None:
    """Draw it, and below it a button for its data.

    What the reader moves is told when it rests: then the settings follow.

    Args:
        picture: the script among the assets that draws it.
        key: its name on the page.
        dials: what moves it; the first is what plays.
        data: its numbers and words, for all places, in `told` the picture in words.
        table: makes the table behind it.
        file: the name of that table's file.
        seconds: that a place takes while it plays; 0 is a picture that does not play.
    """
    turn = f"{key}:turn"

    def told() -> None:
        said = st.session_state[key].get("told")
        said = said if isinstance(said, dict) else {}
        if _within(said.get("turn"), TURNS):
            st.session_state[turn] = said["turn"]
        if _fits(said.get("at"), dials):
            moved = zip(dials, said["at"], strict=True)
            state.change(**{dial.setting: dial.values[place] for dial, place in moved})

    frame = _frame(dials, seconds) | {"turn": st.session_state.get(turn, 0)}
    _component(picture)(key=key, data=frame | dict(data), on_told_change=told)
    load_library()
    download(table, file, key)


def load_library() -> None:
    """Load the library, once a page: a picture stands first, and moves when a reader asks."""
    script = LIBRARY.read_text("utf-8") + NOTHING
    st.components.v2.component("animation", js=script)(key="animation")


def _frame(dials: Sequence[Dial], seconds: float) -> dict[str, Any]:
    """Return the data that every picture is sent."""
    return {
        "dials": [dial.data() for dial in dials],
        "at": [dial.place for dial in dials],
        "seconds": seconds,
        "lecture": state.settings()["lecture"],
        "texts": {n: t(f"motion.{n}") for n in ("back", "play", "pause", "on") if seconds},
    }


def parts(code: str) -> dict[str, str]:
    """Return a tensor's name as the pictures write it."""
    return dict(zip(("head", "raised", "lowered"), symbol_parts(code), strict=True))


def _component(picture: str) -> Callable[..., Any]:
    script = "".join(map(asset, ("svg.js", f"{picture}.js", "motion.js")))
    page, style = asset("motion.html"), asset("motion.css")
    return st.components.v2.component(picture, html=page, css=style, js=script)


def _fits(at: Any, dials: Sequence[Dial]) -> bool:
    """Check that a browser's message names a place of every dial: it may hold anything."""
    if not isinstance(at, list) or len(at) != len(dials):
        return False
    return all(_within(place, len(dial.values)) for place, dial in zip(at, dials, strict=True))


def _within(number: Any, end: int) -> bool:
    return type(number) is int and 0 <= number < end
