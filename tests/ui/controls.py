"""What a reader sets and presses on a page."""

from typing import Any

from streamlit.testing.v1 import AppTest


def controls(at: AppTest, language: str = "en") -> dict[str, Any]:
    """Setting -> its widget, on the page and in the sidebar, from top to bottom."""
    ending = f":{language}"
    keyed = {key: node for node in at._tree if (key := getattr(node, "key", None))}
    return {key.removesuffix(ending): node for key, node in keyed.items() if key.endswith(ending)}


def control(at: AppTest, name: str, language: str = "en") -> Any:
    """The widget of a setting."""
    return at.get_by_key(f"{name}:{language}")


def button(at: AppTest, label: str) -> Any:
    """The one button whose label begins so, or that has this key."""
    found = _buttons(at, label)
    assert len(found) == 1, f"{len(found)} of {label!r} among {[one.label for one in at.button]}"
    return found[0]


def has_button(at: AppTest, label: str) -> bool:
    """Whether a button's label begins so, or one has this key."""
    return bool(_buttons(at, label))


def _buttons(at: AppTest, label: str) -> list[Any]:
    return [one for one in at.button if one.key == label or one.label.startswith(label)]


def pressed(at: AppTest, label: str) -> AppTest:
    """The page after a press of this button."""
    button(at, label).click().run()
    assert not at.exception
    return at


def link(at: AppTest) -> dict[str, str]:
    """What the page's address says."""
    found = dict(at.query_params)  # lists where a link brought them, texts where a run wrote them
    return {name: v[0] if isinstance(v, list) else v for name, v in found.items()}
