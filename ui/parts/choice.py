"""A widget for a setting that is not always shown as it is set."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import streamlit as st

from ui.settings import state
from ui.settings.visit import visit


def choice(
    widget: Callable[..., Any], label: str, name: str, shown: object, *args: object, **options: Any
) -> None:
    """Like `state.control`, for what is not always shown as it is set; `keep` takes a choice."""
    key = f"{name}:{state.settings()['lang']}"
    st.session_state[key] = shown
    keep = options.pop("keep", lambda value: state.change(**{name: value}))

    def changed() -> None:
        if state.is_of(name, st.session_state[key]):
            keep(st.session_state[key])

    with visit().places.get(name) or nullcontext():
        widget(label, *args, key=key, on_change=changed, **options)
