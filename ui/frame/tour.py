"""The guided tour: pages in lecture order, each with its whole state and a sentence to say."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.parts import bridge
from ui.settings import state
from ui.settings.page import Note
from ui.words.text import t, translated

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Stop:
    """One stop; `own` is what its link says beside the defaults."""

    page: str
    own: dict[str, Any]
    say: dict[str, str]

    def link(self, number: int) -> dict[str, Any]:
        """Every setting of its link."""
        return self.own | {"stop": number, "lang": state.settings()["lang"]}


@lru_cache(maxsize=1)
def stops() -> tuple[Stop, ...]:
    """All stops in order."""
    rows = tomllib.loads(FILE.read_text("utf-8"))["stops"]
    return tuple(Stop(row["page"], row["state"], row["say"]) for row in rows)


def go(number: int) -> None:
    """Open a stop, counted from 1; 0 leaves the tour and stays where it is."""
    number = min(number, len(stops()))
    if number <= 0:
        state.change(stop=0)
    else:
        stop = stops()[number - 1]
        state.go(stop.page, **stop.link(number))


def start_button() -> None:
    """In the navigation: begin the tour."""
    label = t("tour.start", count=len(stops()))
    st.button(label, icon=":material/tour:", on_click=go, args=(1,), width="stretch")


def mend(page: str) -> list[Note]:
    """Leave the tour where the stop is another page's: a reader who goes elsewhere leaves it."""
    number = state.settings()["stop"]
    here = 0 < number <= len(stops()) and stops()[number - 1].page == page
    return state.nearest(stop=number if here else 0)


def sentence(number: int) -> str:
    """What to say at a stop."""
    return translated(stops()[number - 1].say)


def turn(by: int) -> None:
    """Go on by `by` stops, back where it is negative."""
    go(max(1, state.settings()["stop"] + by))


def listen() -> None:
    """A clicker's keys go through the stops."""
    bridge.listen(bridge.TOUR, on_step=turn)


def bar(number: int) -> None:
    """What to say at this stop, and the way on, by clicker too."""
    listen()
    with st.container(border=True, key="tour_bar"):
        words, buttons = st.columns([3, 1], vertical_alignment="center")
        place = t("tour.place", number=number, count=len(stops()))
        words.markdown(f"**{place}** {sentence(number)}")
        ways = (
            ("previous", "chevron_left", number - 1, number == 1),
            ("next", "chevron_right", number + 1, number == len(stops())),
            ("leave", "close", 0, False),
        )
        with buttons.container(horizontal=True, horizontal_alignment="right", gap="xsmall"):
            for name, icon, target, nowhere in ways:
                st.button(
                    t(f"tour.{name}"),
                    icon=f":material/{icon}:",
                    key=f"tour_{name}",
                    on_click=go,
                    args=(target,),
                    disabled=nowhere,
                )
