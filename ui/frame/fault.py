"""What a visitor sees of an error that nobody foresaw: one sentence, its reference, and ways on."""

import html
import logging
from contextlib import AbstractContextManager, nullcontext
from secrets import token_hex

import streamlit as st
from google.protobuf.message import DecodeError
from streamlit.logger import get_logger
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.scriptrunner import RerunData, ScriptRunContext, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import RunLocation, ThreadState

from ui.frame import navigation
from ui.settings import address, state
from ui.settings.page import HOME, Page
from ui.settings.rooms import PAGES
from ui.settings.visit import visit
from ui.words.text import catalogue, t

LOG = get_logger(__name__)
STREAMLITS = "Uncaught app execution"
TAKE_MESSAGES = (
    "streamlit.web.server.starlette.starlette_websocket",
    "streamlit.runtime.backend_operation_handler",
)
STRANGERS = (DecodeError, MediaFileStorageError)  # no message; a file that there is not


def show(error: Exception) -> bool:
    """Log an error of a page, a callback or a fragment, and say so on the page.

    Streamlit calls it where the error arose. True: Streamlit's own box is not needed.
    """
    run = get_script_run_ctx()
    if run.script_requests._state is ScriptRequestType.STOP:
        LOG.warning("%.200r in a run that is given up: another has taken its place", error)
        return True
    reference = token_hex(4)
    page = st.session_state.get("page")
    said = {"reference": reference, "page": page}
    LOG.error("fault %s on %s", reference, page, exc_info=error, extra=said)
    if not run.has_script_started:
        _run_without_message(run, reference)
        return True
    try:
        with _place():
            _say(reference)
    except Exception:  # the session itself is broken: words and links that need nothing of it
        LOG.exception("fault %s cannot be said in the page's frame", reference, extra=said)
        _say_without_session(reference)
    return True


def tell() -> None:
    """On the page as it was: the fault of what the reader did last, if there was one."""
    if reference := st.session_state.pop("fault", None):
        _say(reference)


def one_log_line() -> None:
    """Leave the logging of errors to `show`: Streamlit logs each of them once more.

    What a stranger's message asks for in vain is one line as well, without the way there.
    """
    log = logging.getLogger("streamlit.error_util")
    log.addFilter(lambda record: record.msg != STREAMLITS)
    for name in TAKE_MESSAGES:
        logging.getLogger(name).addFilter(_shorten)


def _shorten(record: logging.LogRecord) -> bool:
    if record.exc_info and isinstance(record.exc_info[1], STRANGERS):
        record.msg = f"{record.getMessage():.200}: {record.exc_info[1]!r:.200}"
        record.args, record.exc_info = (), None
    return True


def _run_without_message(run: ScriptRunContext, reference: str) -> None:
    """Drop what the browser said of its widgets, and draw the page as it was before that.

    Streamlit keeps a message before it reads it: one that cannot be read, or whose callback fails,
    would fail every later run of its session. No public call drops it, none asks for a run here.
    """
    run.session_state._state._new_widget_state.states.clear()
    st.session_state.fault = reference
    here = {"page_script_hash": run.page_script_hash, "query_string": run.query_string}
    run.script_requests.request_rerun(RerunData(**here, context_info=run.context_info))


def _say(reference: str) -> None:
    page = visit().page if "visit" in st.session_state else PAGES[HOME]
    with st.container(key=f"fault_{reference}", border=True):
        st.markdown(t("fault.says", reference=reference))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                t("fault.anew"),
                key=f"anew_{reference}",
                icon=":material/restart_alt:",
                type="primary",
                on_click=_anew,
                args=(page,),
            )
            home = address.link(address.browsers(), HOME, {"lang": state.settings()["lang"]})
            _way_home(home, t("fault.home"))


def _place() -> AbstractContextManager:
    """Above the title, where the reader looks; a fragment may draw within itself alone."""
    if ThreadState.get().run_location is RunLocation.FRAGMENT:
        return nullcontext()
    if visit().top:
        return visit().top
    with st.sidebar:  # the run ended before it had drawn the ways to other pages
        navigation.draw()
    return nullcontext()


def _anew(page: Page) -> None:
    """Put back the settings that the page begins with; of a broken session, all that it has."""
    try:
        state.renew(page)
    except Exception:
        LOG.exception("a session had to be emptied")
        st.session_state.clear()
        st.query_params.clear()


def _say_without_session(reference: str) -> None:
    """In every language, since the reader's is unknown."""
    says, home = catalogue()["fault.says"], catalogue()["fault.home"]
    for text in says.values():
        st.markdown(text.format(reference=reference))
    _way_home("./", " / ".join(home.values()))


def _way_home(link: str, label: str) -> None:
    """A plain link: the browser begins a new session there, whatever becomes of this one."""
    text = f'<a class="way" href="{html.escape(link)}" target="_self">{html.escape(label)}</a>'
    st.markdown(text, unsafe_allow_html=True, width="content")
