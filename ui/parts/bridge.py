"""Keys of a clicker, which Streamlit does not tell Python, and a link to copy."""

from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import streamlit as st

from ui import asset
from ui.settings import state
from ui.settings.visit import visit

STORY = "story"


@dataclass
class Clicker:
    """The clicker's presses since the session began: forward minus back.

    The browser sends their sum, not one press after another: a message that comes while the last
    one is still under way takes its place.
    """

    session: str
    seen: int = 0

    def take(self, total: int | None) -> int:
        """Return the steps that are new in `total`."""
        by = 0 if total is None else total - self.seen
        self.seen += by
        return by


def listen(
    key: str,
    *,
    on_step: Callable[[int], None],
    sections: bool = False,
    moves: bool = False,
) -> None:
    """Call `on_step(+1 or -1)` before the next run.

    Presses in quick succession come as their sum. In the story the keys are its own; in lecture
    mode a press at a page's last step turns the page. With `sections` presses go through those
    first, with `moves` through the picture that moves, only in the browser.
    """
    session = st.session_state
    if state.settings()["stop"] and key != STORY:
        return
    visit().stepping = True
    clicker = session.setdefault("clicker", Clicker(token_hex(4)))

    def presses() -> None:
        if key in session:
            _step(session[key], on_step)

    wanted = {"sections": sections, "moves": moves}
    sent = _component()(
        key=key,
        data=wanted | {"session": clicker.session, "seen": clicker.seen},
        on_presses_change=presses,
    )
    if _step(sent, on_step):  # presses that came when an interrupted run had not drawn this yet
        st.rerun()


def _component() -> Callable[..., dict[str, Any]]:
    return st.components.v2.component("clicker", js=asset("bridge.js"))


def _step(sent: dict[str, Any], on_step: Callable[[int], None]) -> bool:
    """Take the presses that are new; whether there were any."""
    by = st.session_state.clicker.take(sent.get("presses"))
    if by:
        before = state.query()
        on_step(by)
        stayed = "go" not in st.session_state and state.query() == before
        if visit().beyond and stayed:  # the page is at its end already
            visit().beyond(1 if by > 0 else -1)
    return by != 0


def copy_link(link: str, *, label: str, done: str) -> None:
    """Draw a button that copies `link`, or where that is empty the browser's address."""
    button = st.components.v2.component(
        "copy_link",
        html='<button class="quiet" type="button"></button><input hidden readonly>',
        css=asset("copy_link.css"),
        js=asset("copy_link.js"),
    )
    button(key="copy_link", data={"link": link, "label": label, "done": done})
