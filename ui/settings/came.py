"""Where the reader was before the story: page and settings, to be given back after it."""

from dataclasses import dataclass

import streamlit as st

from ui.settings import state
from ui.settings.shared import CARRIED
from ui.settings.visit import visit


@dataclass(frozen=True)
class Came:
    """A page with the settings of its link."""

    page: str
    query: dict[str, str]


def remember() -> None:
    """Keep the page and its settings as they are."""
    st.session_state.came = Came(visit().page.name, state.query())


def came() -> Came | None:
    """What is to be given back, in the language and class of now; None outside the story."""
    if not state.in_story():
        return None
    before, now = st.session_state.came, state.query()
    kept = {name: now[name] for name in ("lang", "room") if name in now}
    others = {n: text for n, text in before.query.items() if n not in ("lang", *CARRIED)}
    return Came(before.page, kept | others)


def elsewhere() -> dict[str, str]:
    """What links of the navigation say: the settings without the story, which they leave."""
    if before := came():
        return dict(before.query)
    return {name: text for name, text in state.query().items() if name != "stop"}
