"""All that the recorder takes for granted of Streamlit's protocol, for the version that is pinned.

A browser asks for a run of a page by one message over a socket, and gets the run's messages. Each
names its run, by a name of LENGTH letters; the first also says whose session it is. The script
`assets/replay.js` takes the same for granted, with the numbers of FIELDS.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from google.protobuf.message import Message
from websockets.sync.client import connect

from ui.settings.page import HOME
from ui.streamlit_internals import BackMsg, ForwardMsg, WidgetState

PATIENCE_SECONDS = 300.0
LARGEST = 2**26  # bytes of a message
LENGTH = 36  # letters of a run's name
WHOSE = "copy"  # the session of all messages of a copy
KEPT = 1000  # bytes: a longer text of a message is kept once for all that hold it
# What the script reads of a browser's message, by number: of BackMsg, of ClientState, of a widget.
FIELDS = {
    "rerun_script": 11,
    "query_string": 1,
    "widget_states": 2,
    "page_script_hash": 3,
    "page_name": 4,
    "trigger_value": 2,
    "bool_value": 3,
    "double_value": 4,
    "int_value": 5,
    "string_value": 6,
    "double_array_value": 7,
    "string_array_value": 9,
    "json_value": 10,
    "json_trigger_value": 16,
}
Piece = bytes | None  # of a message; None stands for the name of its run


@dataclass(frozen=True)
class Control:
    """A widget of a page as the browser has it.

    Args:
        key: as the page names it.
        kind: of Streamlit's elements.
        element: the message that draws it.
    """

    key: str
    kind: str
    element: Message

    @property
    def options(self) -> list[str]:
        """The options, as the reader sees them; a button has none."""
        if self.kind == "checkbox":
            return ["true", "false"]
        offered = getattr(self.element, "options", ())
        return [getattr(one, "content", one) for one in offered]

    @property
    def said(self) -> str | None:
        """The value that it shows, as its browser would say it; None where it says nothing."""
        if self.kind in ("button", "bidi_component"):
            return None
        for name in ("raw_values", "raw_value"):
            if hasattr(self.element, name):
                found = getattr(self.element, name)
                return found if isinstance(found, str) else "\n".join(found)
        return _plain(
            self.element.value if hasattr(self.element, "value") else self.element.default
        )

    def choose(self, option: str) -> WidgetState:
        """Return what the browser says when this option is chosen, or a button pressed."""
        state = WidgetState(id=self.element.id)
        if self.kind == "button":
            state.trigger_value = True
        elif self.kind == "checkbox":
            state.bool_value = option == "true"
        elif self.kind in ("selectbox", "radio"):
            state.string_value = option
        else:
            state.string_array_value.data.append(option)
        return state


def _plain(value: object) -> str:
    """Return a value as the script writes what a browser says of it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


CONTROLS = (
    *("button", "button_group", "checkbox", "number_input", "radio", "selectbox", "slider"),
    *("text_area", "text_input"),
)


@dataclass(frozen=True)
class Run:
    """The messages of one run of a page, and the address that it ended at."""

    page: str
    query: dict[str, str]
    messages: tuple[bytes, ...]
    pages: dict[str, str] = field(default_factory=dict)

    def read(self) -> Iterator[ForwardMsg]:
        """Its messages, to be looked into."""
        return map(ForwardMsg.FromString, self.messages)

    def controls(self) -> list[Control]:
        """The widgets that it drew, as they stand at its end."""
        found = {}
        for message in self.read():
            element = message.delta.new_element
            kind = element.WhichOneof("type")
            if kind in CONTROLS:
                own = getattr(element, kind)
                key = own.id.split("-", 2)[-1]
                found[own.id] = Control(key, kind, own)
        return list(found.values())

    def blocks(self) -> list[str]:
        """The blocks of the overview's scene, by their codes; of another page none."""
        for message in self.read():
            component = message.delta.new_element.bidi_component
            if component.id.endswith("-scene"):
                (told,) = json.loads(component.json)
                return [one["code"] for one in told["blocks"]]
        return []


class Session:
    """A browser's session without a browser."""

    def __init__(self, app: str) -> None:
        self._app, self._open = app, ExitStack()
        self._pages: dict[str, str] = {}
        self._page, self._query = HOME, {}

    def __enter__(self) -> "Session":
        asked = connect(
            f"ws://{self._app.partition('://')[2]}/_stcore/stream",
            origin=self._app,
            subprotocols=["streamlit"],
            max_size=LARGEST,
            open_timeout=PATIENCE_SECONDS,
            proxy=None,
        )
        self._socket = self._open.enter_context(asked)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def open(self, page: str, query: dict[str, str]) -> Run:
        """Open an address, as a link does."""
        self._page, self._query = page, dict(query)
        return self._run()

    def say(self, state: WidgetState) -> Run:
        """Say what was chosen on the page that is shown."""
        return self._run(state)

    def _run(self, *states: WidgetState) -> Run:
        asked = BackMsg()
        rerun = asked.rerun_script
        hashes = {name: key for key, name in self._pages.items()}
        rerun.page_script_hash = hashes.get(self._page, "")
        rerun.page_name = "" if self._page == HOME else self._page
        rerun.query_string = urlencode(self._query)
        rerun.context_info.timezone, rerun.context_info.locale = "UTC", "en-US"
        rerun.context_info.url = f"{self._app}/{rerun.page_name}"
        rerun.widget_states.widgets.extend(states)
        self._socket.send(asked.SerializeToString())
        return self._received()

    def _received(self) -> Run:
        """Return the run's messages; of a page that handed on to another, the other's."""
        got: list[ForwardMsg] = []
        here, done = "", False
        while True:
            one = ForwardMsg.FromString(self._socket.recv(PATIENCE_SECONDS))
            kind = one.WhichOneof("type")
            if kind == "new_session":
                got, done, here = [], False, one.new_session.page_script_hash
            if kind in ("new_session", "navigation"):
                told = getattr(one, kind).app_pages
                self._pages |= {page.page_script_hash: page.url_pathname or HOME for page in told}
            if kind == "page_info_changed":
                self._query = dict(parse_qsl(one.page_info_changed.query_string))
            got.append(one)
            done = done or (kind == "script_finished" and one.script_finished == 0)
            if (
                done
                and kind == "session_status_changed"
                and not one.session_status_changed.script_is_running
            ):
                self._page = self._pages.get(here, HOME)
                made = tuple(_kept(got, here, self._query))
                return Run(self._page, dict(self._query), made, dict(self._pages))


def _kept(messages: list[ForwardMsg], here: str, query: dict[str, str]) -> Iterator[bytes]:
    """Yield what a copy needs of a run's messages: nothing of this session, and the address."""
    told = any(one.WhichOneof("type") == "page_info_changed" for one in messages)
    run = next(one.metadata.run.script_run_id for one in messages if one.metadata.run.script_run_id)
    for one in messages:
        kind = one.WhichOneof("type")
        if kind in ("auto_rerun", "git_info_changed"):
            continue
        if kind == "new_session":
            first = one.new_session.initialize
            first.session_id = WHOSE
            first.user_info.Clear()
            first.user_info.SetInParent()
            first.environment_info.python_version = first.environment_info.server_os = ""
            one.new_session.main_script_path = ""
        if one.metadata.run.script_run_id:
            assert one.metadata.run.script_run_id == run
            assert len(run) == LENGTH
            one.metadata.run.script_run_id = "0" * LENGTH
        yield one.SerializeToString()
        if kind == "new_session" and not told:  # the front end puts it into the browser's address
            said = ForwardMsg()
            said.page_info_changed.query_string = urlencode(query)
            said.metadata.CopyFrom(one.metadata)
            yield said.SerializeToString()
