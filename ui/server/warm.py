"""Every page run once before anybody comes: the first visitors of a class find all of it kept."""

import asyncio

from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.session_manager import SessionClient

from ui.settings.page import HOME
from ui.settings.rooms import PAGES


class _Reader(SessionClient):
    """A visitor without a browser, who waits for the end of each run."""

    def __init__(self) -> None:
        self.finished = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """What Streamlit sends."""
        if msg.WhichOneof("type") == "script_finished":
            self.finished.set()


async def pages() -> None:
    """One after another, as a visitor opens them by links alone."""
    reader, server = _Reader(), runtime.get_instance()
    session = server.connect_session(reader, {})
    for name in PAGES:
        reader.finished.clear()
        asked = BackMsg()
        asked.rerun_script.page_name = "" if name == HOME else name
        server.handle_backmsg(session, asked)
        await reader.finished.wait()
    server.close_session(session)
