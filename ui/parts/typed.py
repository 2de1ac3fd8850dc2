"""Whole numbers that are typed: exact where a slider has steps, and refused with the reason."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from ui.parts import prose
from ui.settings import state
from ui.settings.parsers import check_whole
from ui.settings.rooms import SETTINGS
from ui.words.text import t

REFUSED = "typed_refused"  # name and error of what was typed last, until it has been told
KEY = ":typed"  # behind the key that the setting's other control has
WIDTH = 140  # pixels: five digits beside both buttons

Check = Callable[[str, int], None]


def slider(
    label: str,
    name: str,
    options: Sequence[int],
    *,
    then: Callable[[], object] | None = None,
    check: Check | None = None,
    format_func: Callable[[int], str] = str,
) -> None:
    """A slider of usual values, and beside it the number itself."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        steps = sorted({*options, state.settings()[name]})
        state.control(st.select_slider, label, name, steps, then=then, format_func=format_func)
        typed = t("sizes.typed", name=label)
        _box(typed, name, then, check, width=WIDTH, label_visibility="collapsed")
    _tell(name)


def number(label: str, name: str, *, disabled: bool = False) -> None:
    """The number alone, below its label."""
    _box(label, name, None, None, disabled=disabled)
    _tell(name)


def _box(
    label: str, name: str, then: Callable[[], object] | None, check: Check | None, **options: object
) -> None:
    """A box for the setting's number; what cannot be is not taken over."""
    key = f"{name}:{state.settings()['lang']}{KEY}"
    st.session_state[key] = state.settings()[name]
    keep = partial(_keep, key, name, then, check)
    st.number_input(
        label, key=key, step=SETTINGS[name].parse.multiple_of, on_change=keep, **options
    )


def _keep(key: str, name: str, then: Callable[[], object] | None, check: Check | None) -> None:
    typed = st.session_state[key]
    try:
        check_whole(name, typed, SETTINGS[name].parse)
        if check:
            check(name, typed)
    except ValueError as error:
        st.session_state[REFUSED] = name, error
        return
    state.settings()[name] = typed
    if then:
        then()
    state.write()


def _tell(name: str) -> None:
    """Why what was typed is not taken over, once."""
    refused, error = st.session_state.get(REFUSED, (None, None))
    if refused == name:
        del st.session_state[REFUSED]
        prose.refused(error)
