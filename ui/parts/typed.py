"""Whole numbers that are typed: exact where a slider has steps, and refused with the reason."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from ui.parts import prose
from ui.parts.control import control
from ui.settings import state
from ui.settings.page import SETTINGS
from ui.settings.parsers import check_whole
from ui.settings.server import server
from ui.words.text import t

REFUSED = "typed_refused"  # name and error of the number typed last, until it has been told
KEY = ":typed"  # behind the key that the setting's other widget has
WIDTH = 132  # pixels: five digits beside both buttons


def exact_control(
    name: str,
    options: Sequence[int],
    *,
    check: Callable[[str, int], None] | None = None,
    then: Callable[[], object] | None = None,
    write: Callable[[int], str] | None = None,
) -> None:
    """Draw a slider of usual values, and beside it a box for the number itself.

    Args:
        name: of the setting.
        options: of the slider.
        check: raises ValueError for a number that cannot be.
        then: runs after a change.
        write: writes an option of the slider.
    """
    setting = SETTINGS[name]
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"exact_{name}"):
        control(name, options=options, write=write, then=then)
        label = t("chip.typed", name=t(setting.label or setting.texts))
        look = {"width": WIDTH, "label_visibility": "collapsed"}
        _box(name, label, check=check, then=then, **look)
    _tell(name)


def number_control(name: str, **details: Any) -> None:
    """Draw a box for a whole number, which is refused with the reason where it cannot be."""
    setting = SETTINGS[name]
    _box(name, t(setting.label or setting.texts), **details)
    _tell(name)


def _box(
    name: str,
    label: str,
    *,
    check: Callable[[str, int], None] | None = None,
    then: Callable[[], object] | None = None,
    **details: Any,
) -> None:
    """Draw the box of a setting's number; what cannot be is not taken over."""
    parse, key = SETTINGS[name].parse, f"{name}{KEY}"
    st.session_state[key] = state.settings()[name]

    def changed() -> None:
        typed = st.session_state[key]
        try:
            check_whole(name, typed, parse)
            if check:
                check(name, typed)
        except ValueError as error:
            st.session_state[REFUSED] = name, error
            return
        state.settings()[name] = typed
        if then:
            then()
        state.write()

    rests = server().recorded
    details |= {"step": parse.multiple_of, "on_change": changed, "disabled": rests}
    st.number_input(label, key=key, **details)


def _tell(name: str) -> None:
    """Say, once, why the number that was typed is not taken over."""
    refused, error = st.session_state.get(REFUSED, (None, None))
    if refused == name:
        del st.session_state[REFUSED]
        prose.refused(error)
