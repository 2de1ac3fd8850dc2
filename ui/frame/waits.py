"""What a reader sees who waits for the engine: the last picture, and the place in the queue."""

from time import monotonic

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import enqueue_message

from ui.words.text import t

AFTER_SECONDS = 0.5  # a shorter wait is not told


class Waits:
    """A corner of the page, empty while nobody waits.

    The queue tells it from within whatever is being computed. Streamlit would keep what it draws
    there with the results of its cached functions, so the message is made here.
    """

    def __init__(self) -> None:
        with st.container(key="waits"):
            self._path = st.empty()._cursor.delta_path
        self._since: float | None = None
        self._told = 0

    def __call__(self, place: int) -> None:
        """Say that this is the place; 0 that nobody waits any more."""
        self._since = (self._since or monotonic()) if place else None
        early = place and monotonic() - self._since < AFTER_SECONDS
        if place == self._told or early:
            return
        self._told = place
        message = ForwardMsg()
        message.metadata.delta_path[:] = self._path
        element = message.delta.new_element
        if place:
            element.markdown.body = t("common.waits", place=place)
        else:
            element.empty.SetInParent()
        enqueue_message(message)
