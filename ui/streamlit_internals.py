"""All that reaches behind Streamlit's public interface, for the one version that is pinned.

No other file of the app imports a private module of Streamlit. Each function has a test of its own
(tests/ui/test_streamlit_internals.py), which fails by its name where another version changes it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any

from streamlit import logger, runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import (
    RunLocation,
    ThreadState,
    enqueue_message,
    get_run_yield_check,
    get_script_run_ctx,
)
from streamlit.runtime.session_manager import SessionClient
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.session_state import (
    STREAMLIT_INTERNAL_KEY_PREFIX,
    Serialized,
    WStates,
)

__all__ = [  # what other files name
    "BackMsg",
    "DeltaGenerator",  # a place on a page: what st.empty() and st.container() return
    "ForwardMsg",
    "MediaFileStorageError",
    "SessionClient",
    "WidgetState",
]

LOG = logging.getLogger(__name__)
CACHE_LOG = "streamlit.runtime.caching.cache_data_api"  # warns while no server runs yet
ERROR_LOG, ERROR_MESSAGE = "streamlit.error_util", "Uncaught app execution"
MESSAGE_LOGS = (  # of those who take what a browser sends
    "streamlit.web.server.starlette.starlette_websocket",
    "streamlit.runtime.backend_operation_handler",
)


# The page run of this thread


current_run = partial(get_script_run_ctx, suppress_warning=True)
"""Returns what stands for the page run of this thread; None outside of one."""


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


def is_given_up() -> bool:
    """Tell whether this run was told to stop: another takes its place, or its reader has left."""
    return get_script_run_ctx().script_requests._state is ScriptRequestType.STOP


def has_begun() -> bool:
    """Tell whether this run has come to the page itself, after the callbacks of widgets."""
    return get_script_run_ctx().has_script_started


def is_in_fragment() -> bool:
    """Tell whether this thread draws a fragment of a page."""
    return ThreadState.get().run_location is RunLocation.FRAGMENT


def drop_widget_message() -> None:
    """Drop what the browser said of its widgets to ask for this run.

    Streamlit keeps a message before it reads it: one that cannot be read, or whose callback fails,
    would fail every later run of its session.
    """
    get_script_run_ctx().session_state._state._new_widget_state.states.clear()


def ask_for_run() -> None:
    """Ask for another run of the same page, also where this one has not come to the page itself."""
    run = get_script_run_ctx()
    here = {"page_script_hash": run.page_script_hash, "query_string": run.query_string}
    run.script_requests.request_rerun(RerunData(**here, context_info=run.context_info))


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


# The server


async def first_page_runs() -> tuple[bool, str]:
    """Run the main page as a visit does; whether it ended without an error, and what is told."""
    return await runtime.get_instance().does_script_run_without_error()


def count_sessions() -> tuple[int, int]:
    """Return how many sessions are connected to a browser, and how many are held in all."""
    sessions = runtime.get_instance()._session_mgr
    return sessions.num_active_sessions(), sessions.num_sessions()


def is_connected(session: str) -> bool:
    """Tell whether a browser is connected to this session."""
    return runtime.get_instance().is_active_session(session)


def close_expired_sessions() -> None:
    """Close the sessions of browsers that have left for good.

    Streamlit does so when the next visitor comes or leaves, which may be never.
    """
    for _, left in runtime.get_instance()._session_mgr._session_storage._cache.expire():
        left.session.shutdown()


def upload_sizes() -> Mapping[str, list[int]]:
    """Return the bytes of each file that Streamlit holds, by session."""
    storage = runtime.get_instance().uploaded_file_mgr.file_storage
    return {
        session: [len(file.data) for file in list(files.values())]
        for session, files in list(storage.items())
    }


def send_logs_to_root() -> None:
    """Let Streamlit's loggers, and those that it makes later, hand their lines to the root's."""

    def to_root(log: logging.Logger) -> None:
        handler = getattr(log, "streamlit_console_handler", None)
        if handler and handler not in log.handlers:
            return  # done already, or silenced by the server since, as its log of requests
        log.streamlit_console_handler = handler or logging.NullHandler()
        log.removeHandler(log.streamlit_console_handler)
        log.propagate = True

    logger.setup_formatter = to_root
    logger.update_formatter()


# What a browser says of its widgets

NUMBERS = {"int_value", "double_value"}  # a number's widget waits for the second, whole or not


def pass_over_unreadable_widgets() -> None:
    """Let a widget keep its value where the browser's message about it cannot be read.

    Streamlit keeps a message before it reads it, and reads all of them at every run: one of a wrong
    type raises there for as long as its session lives. A KeyError is what Streamlit itself raises,
    and takes, for a message about a widget that it does not know. One about a name that no widget
    can have is not kept at all: it would be taken for a value of the session, which there is not.
    Without it fails tests/attacks/test_server.py, messages of a wrong type break their session.
    """
    _wrap(WStates, "__getitem__", _reading)
    _wrap(WStates, "set_widget_from_proto", _taking)


def _reading(read: Callable[[WStates, str], object]) -> Callable[[WStates, str], object]:
    @wraps(read)
    def readable(states: WStates, widget: str) -> object:
        try:
            _check_type(states, widget)
            return read(states, widget)
        except KeyError:
            raise
        except Exception as error:
            LOG.warning("passed over a message about %.100r: %.100r", widget, error)
            raise KeyError(widget) from error

    return readable


def _taking(take: Callable[[WStates, WidgetState], None]) -> Callable[[WStates, WidgetState], None]:
    @wraps(take)
    def of_widgets(states: WStates, said: WidgetState) -> None:
        if not is_element_id(said.id) and not said.id.startswith(STREAMLIT_INTERNAL_KEY_PREFIX):
            return
        take(states, said)
        if said.id in states.widget_metadata:
            try:
                states[said.id]
            except KeyError:  # unreadable, so no change: the widget's callback is not called
                states.states.pop(said.id, None)  # a newer run may have taken all away

    return of_widgets


def _check_type(states: WStates, widget: str) -> None:
    """Refuse a value of another type than this widget's, which Streamlit would adopt.

    Raises:
        TypeError: it is of another; tells both.
    """
    said, known = states.states.get(widget), states.widget_metadata.get(widget)
    kind = said.value.WhichOneof("value") if isinstance(said, Serialized) else None
    if kind and known and kind != known.value_type and {kind, known.value_type} != NUMBERS:
        raise TypeError(f"{kind} instead of {known.value_type}")


# What a part of a page asks for


def keep_fragments_to_their_page() -> None:
    """Pass over a fragment's request for another page than the one that stands, or comes.

    A fragment that runs by itself every few seconds may ask while its page is being left. Streamlit
    would run the page that is gone, or join the request with that for the next page into one for
    the page before, and the browser would be left with an empty page.
    """
    _wrap(AppSession, "request_rerun", _of_the_page)
    _wrap(ScriptRequests, "request_rerun", _of_what_comes)


def _of_the_page(request: Callable[..., None]) -> Callable[..., None]:
    @wraps(request)
    def of_the_page(session: AppSession, asked: ClientState | None) -> None:
        gone = asked and asked.fragment_id and asked.page_script_hash != session.page_script_hash
        if not gone:
            request(session, asked)

    return of_the_page


def _of_what_comes(request: Callable[..., bool]) -> Callable[..., bool]:
    @wraps(request)
    def of_what_comes(requests: ScriptRequests, new: RerunData) -> bool:
        waits = requests._rerun_data if requests._state is ScriptRequestType.RERUN else None
        page = waits.page_script_hash if waits else ""
        if new.fragment_id and page and new.page_script_hash != page:
            return True
        return request(requests, new)

    return of_what_comes


def _wrap(owner: type, method: str, wrapper: Callable[[Any], Any]) -> None:
    if not hasattr(getattr(owner, method), "__wrapped__"):
        setattr(owner, method, wrapper(getattr(owner, method)))


# A page run once for all who follow: `ui.server.classes`


def open_session(client: SessionClient) -> str:
    """Begin a session whose messages this client gets; return its name."""
    return runtime.get_instance().connect_session(client, {})


def send_to_session(session: str, message: BackMsg) -> None:
    """Hand a message to a session as its browser does."""
    runtime.get_instance().handle_backmsg(session, message)


def close_session(session: str) -> None:
    """End a session."""
    runtime.get_instance().close_session(session)


def media_files(session: str) -> dict[str, str]:
    """Return the files that a session's page names, by their places."""
    manager = runtime.get_instance().media_file_mgr
    with manager._lock:
        return dict(manager._files_by_session_and_coord.get(session, {}))


def hold_media_files(session: str, files: Mapping[str, str]) -> None:
    """Keep these files while a session's page may ask for them."""
    manager = runtime.get_instance().media_file_mgr
    with manager._lock:
        manager._files_by_session_and_coord[session].update(files)


def release_media_files(session: str) -> None:
    """Let go of the files of a session's page."""
    runtime.get_instance().media_file_mgr.clear_session_refs(session)
