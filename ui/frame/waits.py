"""What a reader sees who waits for the engine: the last picture, and the place in the line."""

from collections.abc import Sequence
from time import monotonic

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import enqueue_message

from ui.settings.visit import visit
from ui.words.text import catalogue, t

AFTER_SECONDS = 0.5  # a shorter wait is not told
AGAIN_SECONDS = 2.0  # between two places: of hundreds who wait, each moves with each run
TEXT = "common.waits"


class Waits:
    """Tells a place on the page, where nothing stands while nobody waits.

    The line tells it from within whatever is being computed. Streamlit would keep what it draws
    there with the results of its cached functions, so the message is made here.
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
        message = ForwardMsg()
        message.metadata.delta_path[:] = self._path
        element = message.delta.new_element
        if text:
            element.markdown.body = text
        else:
            element.empty.SetInParent()
        enqueue_message(message)


class _First(Waits):
    """Where there is no page yet: a line in its place until it comes, as nothing is known of it."""

    def __init__(self) -> None:
        super().__init__((0, 0))

    def _says(self, place: int) -> str:
        return " · ".join(text.format(place=place) for text in catalogue()[TEXT].values())

    def _show(self, text: str) -> None:
        if text:
            super()._show(text)


def corner() -> Waits:
    """In a corner of the page that is drawn now."""
    with st.container(key="waits"):
        visit().corner = tuple(st.empty()._cursor.delta_path)
    return Waits(visit().corner)


def before() -> Waits | None:
    """In that corner of the page that still stands, while the next one is not run yet."""
    last = st.session_state.get("visit")
    if not last:
        return _First()
    return Waits(last.corner) if last.corner else None
