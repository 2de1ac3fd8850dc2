"""Presses on cells of a chart or board, as a state: the latest one, until an answer shows it.

The browser tells a cell with a number, larger with each press, and tells it again where no answer
shows it; so a press may come twice, and changes nothing then. What the page's widgets said before
counts no more.
"""

from collections.abc import Callable

import streamlit as st

from ui.settings import state


def latest() -> int:
    """Return the number of the last press that was taken; 0 before the first."""
    return st.session_state.get("press", 0)


def take(said: object, choose: Callable[[dict], None] | None) -> None:
    """Let a page choose the cell that is told, if that press is a later one than the last.

    Args:
        said: of the browser, anything: {"press": number} with what `choose` reads.
        choose: sets what a press on a cell changes; without it nothing is pressed here.
    """
    if not isinstance(said, dict) or type(number := said.get("press")) is not int:
        return
    if number > latest():
        st.session_state.press = number
        if choose:
            with state.past_widgets():
                choose(said)
