"""The app's own real model as pages open with it, where their address names no other model.

What a page opens with, by its `Page`, lies in the session, so that it changes only when a page is
opened or the reader asks for it.
"""

from collections.abc import Mapping

import streamlit as st

from ui.settings.rooms import PAGES, SETTINGS
from ui.settings.sizes import implied


def opened_with() -> Mapping[str, object]:
    """Return what the page opens with, its source too; nothing where another model is named."""
    return {} if of_another_model() else st.session_state.get("opens", {})


def opening() -> dict[str, object]:
    """Return the defaults of the page alone: what it opens with, but for the source itself."""
    return {name: value for name, value in opened_with().items() if name != "source"}


def plain() -> dict[str, object]:
    """Return the settings that name another model, as they are where they name none."""
    usual = {name: one.default for name, one in SETTINGS.items() if one.another_model}
    return usual | {n: value for n, value in implied(usual["preset"]).items() if n in usual}


def of_another_model() -> bool:
    """Tell whether the settings name another model; of an empty page, another source."""
    s, page = st.session_state.get("settings", {}), PAGES.get(st.session_state.get("page", ""))
    if page is None or page.empty:
        return bool(s.get("source"))
    return any(s.get(n, value) != value for n, value in plain().items())
