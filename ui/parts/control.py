"""The widget of a setting, which a page draws by the setting's name."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

from ui.settings import state
from ui.settings.page import SETTINGS
from ui.settings.parsers import Setting
from ui.settings.server import server
from ui.settings.visit import visit
from ui.words.numbers import count
from ui.words.text import t

CHOICES = "segmented_control", "radio", "selectbox", "select_slider"
RANGES = "slider", "number_input"


def control(
    name: str,
    *,
    widget: str = "",
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
        widget: Streamlit's name of it; by default the setting's.
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
    widget = widget or setting.widget
    key = state.key(name)
    st.session_state[key] = value = s[name] if shown is None else shown

    def changed() -> None:
        chosen = st.session_state[key]
        if key != state.key(name) or not state.is_of(name, chosen):
            return
        if keep:
            keep(chosen)
        else:
            s[name] = chosen
        if then:
            then()
        state.write()

    if widget in CHOICES:
        required = {"required": True} if widget == "segmented_control" else {}
        details = required | _offered(setting, widget, value, options, write) | details
    elif widget in RANGES:
        details["min_value"] = setting.parse.least if least is None else least
        details["max_value"] = setting.parse.most if most is None else most
    if server().recorded:
        widget, details = _of_copy(setting, name, widget, value, details)
    with visit().places.get(name) or nullcontext():
        draw = getattr(st, widget)
        draw(label or t(setting.label or setting.texts), key=key, on_change=changed, **details)


def _offered(
    setting: Setting,
    widget: str,
    value: object,
    options: Sequence[Any],
    write: Callable[[Any], str] | None,
) -> dict[str, Any]:
    """Return a choice's options, and what writes one: a code by its text, a number by `count`."""

    def written(option: object) -> str:
        return t(f"{setting.texts}_{option}") if isinstance(option, str) else count(option)

    offered = list(options or setting.options or getattr(setting.parse, "options", ()))
    if widget == "select_slider" and value not in offered:
        offered = sorted([*offered, value])
    return {"options": offered, "format_func": write or setting.write or written}


def _of_copy(
    setting: Setting, name: str, widget: str, value: object, details: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return a widget that offers what a static copy has, or rests where that is one value."""
    recorded = visit().page.recorded.get(name, setting.recorded)
    if recorded is None:
        recorded = widget == "segmented_control"
    if not recorded:
        return widget, details | {"disabled": True, "help": t("common.rests")}
    if recorded is True:
        return widget, details
    had = {*recorded, value}
    if widget in CHOICES:
        return widget, details | {"options": [one for one in details["options"] if one in had]}
    had = {one for one in had if details["min_value"] <= one <= details["max_value"]}
    of_range = "min_value", "max_value", "step", "format"
    kept = {key: detail for key, detail in details.items() if key not in of_range}
    return "select_slider", kept | {"options": sorted(had), "format_func": setting.write or count}
