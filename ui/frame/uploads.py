"""Which sessions show a page that takes files: others may upload none."""

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.settings.page import Page

_showing: set[str] = set()


def note(page: Page) -> None:
    """Whether this session may upload files from now on: while it shows a page that takes them."""
    session = get_script_run_ctx().session_id
    if page.uploads or page.sizes:  # a config.json goes behind the model's chip
        _showing.intersection_update(filter(_active, tuple(_showing)))  # what has left is dropped
        _showing.add(session)
    else:
        _showing.discard(session)


def allowed(session: str) -> bool:
    """Whether a session shows such a page."""
    return session in _showing


def _active(session: str) -> bool:
    return runtime.get_instance().is_active_session(session)
