"""Who heavy work is for: a visitor, who waits, may leave, or may ask for something newer."""

import threading

import streamlit as st
from streamlit.runtime.scriptrunner_utils.script_run_context import (
    get_run_yield_check,
    get_script_run_ctx,
)


def visitor() -> object:
    """Whose work it is: a session's, or a thread's that belongs to none."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else threading.get_ident()


def stop_if_asked() -> None:
    """Raise what ends a run of Streamlit, where its visitor has left or a newer one is asked for.

    It derives from BaseException, so that no page takes it for a failure.
    """
    if check := get_run_yield_check():
        check()


def tell(place: int) -> None:
    """Say on the visitor's page which place in the line he has, 0 for none; where a page is run."""
    running = get_script_run_ctx(suppress_warning=True)
    visit = st.session_state.get("visit") if running else None
    if visit and visit.waits:
        visit.waits(place)
