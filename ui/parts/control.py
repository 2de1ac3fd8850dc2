"""The widget of a setting, which a page draws by the setting's name."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

from ui.parts import prose
from ui.settings import state
from ui.settings.parsers import Setting, check_whole
from ui.settings.rooms import SETTINGS
from ui.settings.visit import visit
from ui.words.numbers import count
from ui.words.text import t

CHOICES = "segmented_control", "radio", "selectbox", "select_slider"
RANGES = "slider", "number_input"
REFUSED = "typed_refused"  # name and error of the number typed last, until it has been told
BOX = ":typed"  # behind the key that the setting's other widget has
NUMBER_WIDTH = 140  # pixels: five digits beside both buttons


def control(
    name: str,
    *,
    label: str = "",
    options: Sequence[Any] = (),
    least: float | None = None,
    most: float | None = None,
    write: Callable[[Any], str] | None = None,
    shown: object = None,
    keep: Callable[[Any], None] | None = None,
    then: Callable[[], object] | None = None,
    **details: Any,
) -> None:
    """Draw the widget that shows and changes a setting.

    It stands in the bar of lecture mode where that has a place for it.

    Args:
        name: of the setting.
        label: where it has values in it; by default the setting's text.
        options: offered by a choice; by default the setting's, with its present value.
        least: the lower end of a range; by default the parser's.
        most: its upper end.
        write: writes an option; by default as the setting says.
        shown: what the widget shows, where that is not always what is set.
        keep: takes what is chosen; by default the setting does.
        then: runs after a change.
        details: of Streamlit's widget.
    """
    setting, s = SETTINGS[name], state.settings()
    key = f"{name}:{s['lang']}"  # a widget whose labels change under one key is reset
    st.session_state[key] = value = s[name] if shown is None else shown

    def changed() -> None:
        chosen = st.session_state[key]
        if not state.is_of(name, chosen):
            return
        if keep:
            keep(chosen)
        else:
            s[name] = chosen
        if then:
            then()
        state.write()

    if setting.widget in CHOICES:
        offered = list(options or setting.options or getattr(setting.parse, "options", ()))
        if setting.widget == "select_slider" and value not in offered:
            offered = sorted([*offered, value])
        details = {"options": offered, "format_func": _writer(setting, write)} | details
        if setting.widget == "segmented_control":
            details = {"required": True} | details
    elif setting.widget in RANGES:
        ends = setting.parse.least if least is None else least, most
        details |= {"min_value": ends[0], "max_value": setting.parse.most if most is None else most}
    with visit().places.get(name) or nullcontext():
        draw = getattr(st, setting.widget)
        draw(label or t(setting.label or setting.texts), key=key, on_change=changed, **details)


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
    with st.container(horizontal=True, vertical_alignment="bottom"):
        control(name, options=options, write=write, then=then)
        label = t("sizes.typed", name=t(setting.label or setting.texts))
        look = {"width": NUMBER_WIDTH, "label_visibility": "collapsed"}
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
    parse, key = SETTINGS[name].parse, f"{name}:{state.settings()['lang']}{BOX}"
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

    st.number_input(label, key=key, step=parse.multiple_of, on_change=changed, **details)


def _tell(name: str) -> None:
    """Say, once, why the number that was typed is not taken over."""
    refused, error = st.session_state.get(REFUSED, (None, None))
    if refused == name:
        del st.session_state[REFUSED]
        prose.refused(error)


def _writer(setting: Setting, write: Callable[[Any], str] | None) -> Callable[[Any], str]:
    """Return what writes an option: a code by its text, a number with its separators."""

    def written(option: object) -> str:
        return t(f"{setting.texts}_{option}") if isinstance(option, str) else count(option)

    return write or setting.write or written
