"""What a reader sees who waits for the engine: the last picture, and the place in the line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

import streamlit as st

from ui.engine import asker, gate
from ui.settings.page import Page
from ui.settings.visit import visit
from ui.streamlit_internals import path_of, send_markdown
from ui.words.text import catalogue, t

AFTER_SECONDS = 0.5  # a shorter wait is not told
AGAIN_SECONDS = 2.0  # between two places: of hundreds who wait, each moves with each run
TEXT = "common.waits"


class Waits:
    """Tells a place on the page, where nothing stands while nobody waits.

    The line tells it from within whatever is being computed. Streamlit would keep what is drawn
    there with the results of its cached functions, so the message is made by hand.
    """

    def __init__(self, path: Sequence[int]) -> None:
        self._path = path
        self._since: float | None = None
        self._told, self._told_at = 0, 0.0

    def __call__(self, place: int) -> None:
        """Say that this is the place; 0 that nobody waits any more."""
        now = monotonic()
        self._since = (self._since or now) if place else None
        early = place and now - self._since < AFTER_SECONDS
        again = place and self._told and now - self._told_at < AGAIN_SECONDS
        if place == self._told or early or again:
            return
        self._told, self._told_at = place, now
        self._show(self._says(place) if place else "")

    def _says(self, place: int) -> str:
        return t(TEXT, place=place)

    def _show(self, text: str) -> None:
        send_markdown(self._path, text)


class _Alone(Waits):
    """Tells it where no page stands yet, in the place of the page's first element."""

    def __init__(self) -> None:
        super().__init__((0, 0))

    def _says(self, place: int) -> str:
        if "settings" in st.session_state:
            return super()._says(place)
        every = catalogue()[TEXT].values()  # the reader's language is not known
        return " · ".join(text.format(place=place) for text in every)

    def _show(self, text: str) -> None:
        if text:
            super()._show(text)


def corner() -> Waits:
    """In a corner of the page that is drawn now."""
    with st.container(key="waits"):
        visit().corner = path_of(st.empty())
    return Waits(visit().corner)


@contextmanager
def drawing_turn(page: Page) -> Iterator[None]:
    """Wait until this page, or a section of it, may be drawn, and say the place in line.

    A few are drawn at a time. A turn within a turn is part of it.
    """
    asker.tell_by(_before(page))
    with gate.inside():
        yield


def _before(page: Page) -> Waits | None:
    """Tell in the corner of the page where it stands as it was, while it is not drawn again."""
    last = st.session_state.get("visit")
    if not last or last.page is not page:  # the browser has taken the other page away
        return _Alone()
    return Waits(last.corner) if last.corner else None
