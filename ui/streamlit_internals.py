"""All that reaches behind Streamlit's public interface, for the one version that is pinned.

No other file of the app imports a private module of Streamlit. Each function has a test of its own
(tests/ui/test_streamlit_internals.py), which fails by its name where another version changes it.
"""

from collections.abc import Callable

from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_run_context import (
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


def wrap_runs(wrapper: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Replace what runs a page by what `wrapper` makes of it (with functools.wraps), once."""
    if not hasattr(ScriptRunner._run_script, "__wrapped__"):
        ScriptRunner._run_script = wrapper(ScriptRunner._run_script)
