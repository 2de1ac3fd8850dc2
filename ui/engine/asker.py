"""Who heavy work is for: a visitor, who waits, may leave, or may ask for something newer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

import streamlit as st

from ui.streamlit_internals import interruption, is_served, session_id

COOKIE = "mla_seat"  # of a browser that was let in
_page = threading.local()


def visitor() -> object:
    """Whose work it is: a session's, or a thread's that belongs to none."""
    if stands := getattr(_page, "stands", None):
        return stands[0]
    return session_id() or threading.get_ident()


def browser() -> str:
    """Whose downloads count together, unreadable: a browser's by its cookie, else a session's."""
    seat = None
    if is_served():
        seat = st.context.cookies.get(COOKIE)
    who = seat if seat and isinstance(seat, str) else visitor()
    return sha256(f"{who}".encode()).hexdigest()[:16]


def stop_if_asked() -> None:
    """Raise what ends a run of Streamlit, where its visitor has left or a newer one is asked for.

    It derives from BaseException, so that no page takes it for a failure.
    """
    stands = getattr(_page, "stands", None)
    if check := stands[1] if stands else interruption():
        check()


@contextmanager
def standing_for(visitor: object, check: Callable[[], None]) -> Iterator[None]:
    """Work in this thread for a visitor of another process; `check` raises where he has left."""
    _page.stands = visitor, check
    try:
        yield
    finally:
        _page.stands = None


def tell_by(say: Callable[[int], None] | None) -> None:
    """How the page that this thread runs says which place in the line its reader has, if it can."""
    _page.say = say


def tell(place: int) -> None:
    """Say it, 0 for none, where a page is run."""
    if say := getattr(_page, "say", None):
        say(place)
