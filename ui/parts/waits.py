"""Tell a reader who waits for the engine his place in the line, or how much of his work is done."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

import streamlit as st

from ui.engine import job_owner, queue
from ui.settings.page import Page
from ui.settings.visit import visit
from ui.streamlit_internals import DeltaGenerator, path_of, send_markdown
from ui.words.text import catalogue, t

AFTER_SECONDS = 0.5  # a shorter wait is not told
AGAIN_SECONDS = 2.0  # between two places: of hundreds who wait, each moves with each run
TEXT = "common.waits"
PATIENCE_SECONDS = 0.3  # what takes less shows no progress


class Notice:
    """Shows a place in the line at a path of the page, where nothing stands while nobody waits.

    The line calls it from within whatever is being computed. Streamlit would keep what is drawn
    there with the results of its cached functions, so the message is made by hand.

    Args:
        path: None where the page does not stand yet.
    """

    def __init__(self, path: Sequence[int] | None) -> None:
        self._path = path
        self._since: float | None = None
        self._shown, self._shown_at = 0, 0.0

    def __call__(self, place: int) -> None:
        """Show this place; 0 where the reader does not wait any more."""
        now = monotonic()
        self._since = (self._since or now) if place else None
        early = place and now - self._since < AFTER_SECONDS
        again = place and self._shown and now - self._shown_at < AGAIN_SECONDS
        if place == self._shown or early or again:
            return
        self._shown, self._shown_at = place, now
        if self._path:
            send_markdown(self._path, t(TEXT, place=place) if place else "")
        elif place:  # in the place of the page's first element, which replaces it
            send_markdown((0, 0), _text(place))


def _text(place: int) -> str:
    if "settings" in st.session_state:
        return t(TEXT, place=place)
    every = catalogue()[TEXT].values()  # the reader's language is not known
    return " · ".join(text.format(place=place) for text in every)


def corner() -> Notice:
    """Return a notice in a corner of the page that is drawn now."""
    with st.container(key="waits"):
        visit().corner = path_of(st.empty())
    return Notice(visit().corner)


@contextmanager
def drawing_turn(page: Page) -> Iterator[None]:
    """Wait until this page, or a section of it, may be drawn; its reader is told his place.

    A few are drawn at a time. A turn within a turn is part of it.
    """
    last = st.session_state.get("visit")
    if not last or last.page is not page:  # the browser has taken the other page away
        job_owner.show_places_by(Notice(None))
    else:
        job_owner.show_places_by(Notice(last.corner) if last.corner else None)
    with queue.page():
        yield


def one_by_one(
    place: DeltaGenerator, todo: Sequence[str], words: Callable[[str, int], str]
) -> Iterator[str]:
    """Yield each of these in turn; a bar at `place` shows how many are done, and says `words`.

    Between two pieces a change of a widget interrupts the run; finished ones stay cached.
    """
    started = monotonic()
    for done, one in enumerate(todo):
        if monotonic() - started > PATIENCE_SECONDS:
            place.progress(done / len(todo), words(one, done))
        yield one
    place.empty()
