"""Find and use the widgets that a reader sets and presses."""

from typing import Any

from streamlit.testing.v1 import AppTest

from ui.settings.page import SETTINGS

BESIDE = "layer_beside", "trained_layer_beside", "reader", "am_story"  # of no setting of that name


def controls(at: AppTest) -> dict[str, Any]:
    """Return setting -> its widget, on the page and in the sidebar, from top to bottom."""
    keyed = {key: node for node in at._tree if (key := getattr(node, "key", None))}
    known = {*SETTINGS, *BESIDE}
    return {key: node for key, node in keyed.items() if key in known and node.type != "button"}


def control(at: AppTest, name: str) -> Any:
    """Return the widget of a setting."""
    return at.get_by_key(name)


def button(at: AppTest, label: str) -> Any:
    """Return the one button whose label begins so, or that has this key."""
    found = _buttons(at, label)
    assert len(found) == 1, f"{len(found)} of {label!r} among {[one.label for one in at.button]}"
    return found[0]


def has_button(at: AppTest, label: str) -> bool:
    """Return whether a button's label begins so, or one has this key."""
    return bool(_buttons(at, label))


def _buttons(at: AppTest, label: str) -> list[Any]:
    return [one for one in at.button if one.key == label or one.label.startswith(label)]


def pressed(at: AppTest, label: str) -> AppTest:
    """Press this button and return the page."""
    button(at, label).click().run()
    assert not at.exception
    return at


def link(at: AppTest) -> dict[str, str]:
    """Return the parameters of the page's address."""
    found = dict(at.query_params)  # lists where a link brought them, texts where a run wrote them
    return {name: v[0] if isinstance(v, list) else v for name, v in found.items()}
