"""The app's uses of what lies behind Streamlit's interface: each is there, and does its work."""

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from streamlit import logger
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest

from tests import patience
from ui import streamlit_internals as internals


def run(script: Callable[[], None]) -> AppTest:
    """A page of these lines, run once."""
    at = AppTest.from_function(script, default_timeout=patience.SECONDS).run()
    assert not at.exception
    return at


def test_current_run_and_session_id():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = internals.current_run(), internals.session_id()

    assert internals.current_run() is None
    assert internals.session_id() is None
    here, session = run(page).session_state.found
    assert here.session_id == session != ""


def test_is_served():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = internals.is_served()

    assert not internals.is_served()
    assert run(page).session_state.found


def test_interruption():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = found = []
        ends = internals.interruption()
        ends()
        internals.current_run().script_requests.request_stop()
        try:
            ends()
        except Exception:
            found.append("an error of the page")
        except BaseException:
            found.append("the end of the run")

    assert internals.interruption() is None
    assert run(page).session_state.found == ["the end of the run"]


def test_is_history_navigation():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = internals.is_history_navigation()

    assert run(page).session_state.found is False
    assert RerunData(is_history_navigation=True).is_history_navigation


def test_path_of_and_send_markdown():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        @st.cache_data
        def computed(path: tuple[int, ...], text: str) -> None:
            internals.send_markdown(path, text)

        st.text("above")
        told, emptied = internals.path_of(st.empty()), internals.path_of(st.empty())
        internals.send_markdown(emptied, "for a moment")
        computed(told, "told")
        internals.send_markdown(emptied, "")
        st.session_state.found = told, emptied

    at = run(page)
    assert at.session_state.found == ((0, 1), (0, 2))
    assert [one.value for one in at.markdown] == ["told"]
    at.run()  # the cached function is not called: nothing of it is drawn again
    assert not at.markdown


def test_is_given_up():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.found = found = [internals.is_given_up()]
        internals.current_run().script_requests.request_stop()
        found.append(internals.is_given_up())

    assert run(page).session_state.found == [False, True]


def test_has_begun():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        def pressed() -> None:
            st.session_state.found = internals.has_begun()

        st.button("press", on_click=pressed)
        st.session_state.here = internals.has_begun()

    at = run(page)
    at.button[0].click().run()
    assert (at.session_state.found, at.session_state.here) == (False, True)


def test_is_in_fragment():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        found = [internals.is_in_fragment()]
        st.fragment(lambda: found.append(internals.is_in_fragment()))()
        st.session_state.found = found

    assert run(page).session_state.found == [False, True]


def test_drop_widget_message_and_ask_for_run():
    def page() -> None:
        import streamlit as st

        from ui import streamlit_internals as internals

        st.session_state.runs = st.session_state.get("runs", 0) + 1
        st.session_state.read = st.checkbox("tick")
        if st.session_state.read:
            internals.drop_widget_message()
            internals.ask_for_run()

    at = run(page)
    at.checkbox[0].check().run()
    assert at.session_state.runs == 3
    assert at.session_state.read is False


# The server


class Client(internals.SessionClient):
    """A browser that keeps what comes, and says when a run has ended."""

    headers, cookies, remote_ip = (), {}, None

    def __init__(self) -> None:
        self.messages: list[internals.ForwardMsg] = []
        self.finished = asyncio.Event()

    @property
    def client_context(self) -> "Client":
        return self

    def write_forward_msg(self, msg: internals.ForwardMsg) -> None:
        self.messages.append(msg)
        if msg.WhichOneof("type") == "script_finished":
            self.finished.set()

    async def ask(self, session: str, **state: object) -> None:
        """Ask for a run, and wait for its end."""
        self.finished.clear()
        asked = ClientState(**state)
        internals.send_to_session(session, internals.BackMsg(rerun_script=asked))
        await asyncio.wait_for(self.finished.wait(), patience.SECONDS)


PAGE = """
import streamlit as st
st.session_state.number = 7
st.text("here")
st.checkbox("tick", key="ticked")
st.download_button("take", "a file", file_name="taken.txt")
"""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Run a coroutine beside a server of a page, which has no network."""
    script = tmp_path / "page.py"
    script.write_text(PAGE)
    files = MemoryUploadedFileManager("/upload")

    async def beside(act: Callable[[MemoryUploadedFileManager], Awaitable[object]]) -> object:
        server = Runtime(
            RuntimeConfig(
                script_path=str(script),
                media_file_storage=MemoryMediaFileStorage("/media"),
                uploaded_file_manager=files,
                session_storage=MemorySessionStorage(ttl_seconds=0),
            )
        )
        await server.start()
        try:
            return await act(files)
        finally:
            server.stop()
            await server.stopped

    monkeypatch.setattr(Runtime, "_instance", None)
    return lambda act: asyncio.run(beside(act))


def test_first_page_runs(served):
    async def act(_: object) -> tuple[bool, str]:
        return await internals.first_page_runs()

    assert served(act)[0] is True


def test_sessions_are_counted_connected_and_closed(served):
    async def act(_: object) -> None:
        assert internals.count_sessions() == (0, 0)
        session = internals.open_session(Client())
        assert internals.count_sessions() == (1, 1)
        assert internals.is_connected(session)
        internals.close_session(session)
        assert internals.count_sessions() == (0, 0)
        assert not internals.is_connected(session)

    served(act)


def test_close_expired_sessions(served, monkeypatch):
    async def act(_: object) -> None:
        closed: list[None] = []
        session = internals.open_session(Client())
        held = Runtime.instance()._session_mgr.get_session_info(session).session
        monkeypatch.setattr(held, "shutdown", lambda end=held.shutdown: closed.append(end()))
        Runtime.instance()._session_mgr.disconnect_session(session)
        internals.close_expired_sessions()
        assert closed == [None]

    served(act)


def test_upload_sizes(served):
    async def act(files: MemoryUploadedFileManager) -> None:
        files.add_file("one", UploadedFileRec("a", "a.txt", "text/plain", b"abc"))
        files.add_file("one", UploadedFileRec("b", "b.txt", "text/plain", b""))
        assert internals.upload_sizes() == {"one": [3, 0]}

    served(act)


def test_a_session_is_asked_and_its_files_are_held(served):
    async def act(_: object) -> None:
        client = Client()
        session = internals.open_session(client)
        await client.ask(session)
        files = internals.media_files(session)
        internals.hold_media_files("another", files)
        assert internals.media_files("another") == files
        internals.release_media_files("another")
        assert internals.media_files("another") == {}
        assert client.messages

    served(act)


def test_keep_fragments_to_their_page(served, monkeypatch):
    requests = ScriptRequests()
    of_this = RerunData(page_script_hash="this", fragment_id="part")
    next_page = RerunData(page_script_hash="next")
    internals.keep_fragments_to_their_page()
    requests.request_rerun(next_page)
    requests.request_rerun(of_this)
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == "next"
    requests.request_rerun(of_this)
    assert requests.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["part"]
    looked_for = []
    monkeypatch.setattr(AppSession, "has_fragment", lambda _, one: looked_for.append(one))

    async def act(_: object) -> None:
        client = Client()
        session = internals.open_session(client)
        await client.ask(session)
        page = next(m.new_session for m in client.messages if m.WhichOneof("type") == "new_session")
        for place in ("another", page.page_script_hash):
            asked = ClientState(fragment_id="part", page_script_hash=place)
            internals.send_to_session(session, internals.BackMsg(rerun_script=asked))
        assert looked_for == ["part"]

    served(act)


# Logs


def test_send_logs_to_root(monkeypatch):
    monkeypatch.setattr(logger, "setup_formatter", logger.setup_formatter)
    before = logger.get_logger("tests.before")
    assert before.handlers
    internals.send_logs_to_root()
    later = logger.get_logger("tests.later")
    before.propagate = False  # as a server silences its log of requests
    logger.update_formatter()
    assert not before.propagate
    before.propagate = True
    for log in (before, later):
        assert log.propagate
        assert not log.handlers
    monkeypatch.undo()
    logger.update_formatter()
    for log in logger._loggers.values():
        log.propagate = False


@pytest.mark.parametrize(
    "name", [internals.CACHE_LOG, internals.ERROR_LOG, *internals.MESSAGE_LOGS]
)
def test_a_log_that_is_named_is_there(name):
    assert importlib.import_module(name)._LOGGER is logging.getLogger(name)


def test_error_message():
    text = Path(importlib.import_module(internals.ERROR_LOG).__file__).read_text("utf-8")
    assert f'"{internals.ERROR_MESSAGE}"' in text
