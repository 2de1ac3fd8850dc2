"""The visitor whose work this thread does: he may leave, ask for something newer, or wait."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

import streamlit as st

from ui.streamlit_internals import interruption, is_served, session_id

COOKIE = "mla_seat"  # of a browser that was let in
_thread = threading.local()


def current() -> object:
    """Return the name of the visitor's session, or a thread's number where there is none."""
    if acts := getattr(_thread, "acts", None):
        return acts[0]
    return session_id() or threading.get_ident()


def browser() -> str:
    """Return an unreadable name of a browser, by its cookie, else of a session."""
    seat = st.context.cookies.get(COOKIE) if is_served() else None
    who = seat if seat and isinstance(seat, str) else current()
    return sha256(f"{who}".encode()).hexdigest()[:16]


def stop_if_gone() -> None:
    """Raise what ends a run of Streamlit, if the visitor has left or asked for a newer one.

    It derives from BaseException, so that no page takes it for a failure.
    """
    acts = getattr(_thread, "acts", None)
    if check := acts[1] if acts else interruption():
        check()


@contextmanager
def acting_for(visitor: object, check: Callable[[], None]) -> Iterator[None]:
    """Work in this thread for a visitor of another process; `check` raises once he has left."""
    _thread.acts = visitor, check
    try:
        yield
    finally:
        _thread.acts = None


def show_places_by(show: Callable[[int], None] | None) -> None:
    """Set how the page that this thread runs shows its reader's place in a line, if it can."""
    _thread.show = show


def show_place(place: int) -> None:
    """Show the reader's place in a line, 0 for none, where a page is run."""
    if show := getattr(_thread, "show", None):
        show(place)
