"""All that reaches behind Streamlit's public interface, for the one version that is pinned.

No other file of the app imports a private module of Streamlit. Each function has a test of its own
(tests/ui/test_streamlit_internals.py), which fails by its name where another version changes it.
"""

from collections.abc import Callable, Sequence

from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import (
    enqueue_message,
    get_run_yield_check,
    get_script_run_ctx,
)

__all__ = ["DeltaGenerator"]  # a place on a page: what st.empty() and st.container() return


def current_run() -> object | None:
    """Return what stands for the page run of this thread; None outside of one."""
    return get_script_run_ctx(suppress_warning=True)


def session_id() -> str | None:
    """Return the name of the session whose page this thread runs; None outside of a run."""
    run = get_script_run_ctx(suppress_warning=True)
    return run.session_id if run else None


def is_served() -> bool:
    """Tell whether this thread runs a page for a browser of a server."""
    return current_run() is not None and runtime.exists()


def interruption() -> Callable[[], None] | None:
    """Return what ends this run by raising, once its reader has left or asked for another one.

    None outside of a run. What it raises derives from BaseException.
    """
    return get_run_yield_check()


def is_history_navigation() -> bool:
    """Tell whether the Back or Forward button of the browser asked for this run."""
    return get_script_run_ctx().is_history_navigation


def path_of(place: DeltaGenerator) -> tuple[int, ...]:
    """Return where a place stands on the page, as messages to the browser name it."""
    return tuple(place._cursor.delta_path)


def send_markdown(path: Sequence[int], text: str) -> None:
    """Show a text at a place of the page, or nothing where it is empty.

    Unlike what st.markdown draws it is not kept with the result of a cached function.
    """
    message = ForwardMsg()
    message.metadata.delta_path[:] = path
    element = message.delta.new_element
    if text:
        element.markdown.body = text
    else:
        element.empty.SetInParent()
    enqueue_message(message)
