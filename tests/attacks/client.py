"""A client of Streamlit's websocket that is no browser: it sends what it likes.

with Session(app.url) as session:
    seen = session.open("decode", "seed=3")
    seen.texts, seen.exceptions, seen.widget("number_input", "Seed").id
    seen = session.touch(seen.widget("number_input", "Seed"), int_value=4)
    session.send(b"anything")
"""

import time
from dataclasses import dataclass, field
from urllib.parse import urlparse

from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State
from websockets.sync.client import connect

from tests import patience

LARGEST_ANSWER = 2**28
PROTOCOLS = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]
ANOTHER_FOLLOWS = ForwardMsg.FINISHED_EARLY_FOR_RERUN
WORDS = ("body", "label", "message", "code_text", "value", "caption", "title", "text")


class StuckError(Exception):
    """A run that did not end within the patience, or a connection that was closed."""


@dataclass
class Seen:
    """The screen: each element by its place, and how the last run ended."""

    elements: dict[tuple[int, ...], Message] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # of exceptions that stand in no place
    query: str | None = None  # what the app has written into the URL
    session_id: str = ""
    status: int | None = None
    runs: int = 0

    def of(self, kind):
        """All elements of a kind, by the name that element.proto has for it."""
        return [getattr(e, kind) for e in self.elements.values() if e.WhichOneof("type") == kind]

    @property
    def charts(self):
        """All charts, as the components that draw them are sent."""
        return [one for one in self.of("bidi_component") if one.component_name == "chart"]

    @property
    def texts(self):
        """Return all readable texts in the order of their places."""
        said = []
        for _, element in sorted(self.elements.items()):
            inner = getattr(element, element.WhichOneof("type") or "empty")
            said += [getattr(inner, w) for w in WORDS if isinstance(getattr(inner, w, 0), str)]
        return [text for text in said if text]

    @property
    def exceptions(self):
        """Uncaught errors that the visitor sees: as Streamlit shows them."""
        return [f"{e.type}: {e.message}" for e in self.of("exception")] + self.notes

    @property
    def widgets(self):
        """Kind and widget of all that have an id."""
        inner = [(e.WhichOneof("type"), e) for e in self.elements.values()]
        found = [(kind, getattr(e, kind)) for kind, e in inner if kind]
        return [(kind, widget) for kind, widget in found if getattr(widget, "id", "")]

    def widget(self, kind, label=""):
        """The first widget of a kind whose label contains a text.

        Raises:
            LookupError: there is none; tells which there are.
        """
        for found, widget in self.widgets:
            if found == kind and label in getattr(widget, "label", ""):
                return widget
        there = [(found, getattr(widget, "label", "")) for found, widget in self.widgets]
        raise LookupError(f"no {kind} {label!r} among {there}")


def stream(url):
    """The websocket of an app."""
    place = urlparse(url)
    return f"ws://{place.netloc}{place.path.rstrip('/')}/_stcore/stream"


class Talk:
    """A visitor's words and screen, without a connection: heirs have `send` and `finished`."""

    def __init__(self):
        self.seen = Seen()
        self.state = ClientState()

    def open(self, page="", query="", *, wait=True):
        """Open a page by its name ("" is the overview), as a new tab does, or the Back button."""
        self.state = ClientState(page_name=page, query_string=query)
        self.state.context_info.locale = "en-US"
        self.state.context_info.timezone = "UTC"
        self.state.context_info.url = f"http://localhost/{page}"
        return self.rerun(wait=wait, is_history_navigation=self.seen.runs > 0)

    def touch(self, widget, *, wait=True, **value):
        """Change one widget; `value` is a field of WidgetState, right or wrong."""
        identity = widget if isinstance(widget, str) else widget.id
        others = [w for w in self.state.widget_states.widgets if w.id != identity]
        del self.state.widget_states.widgets[:]
        self.state.widget_states.widgets.extend([*others, WidgetState(id=identity, **value)])
        seen = self.rerun(wait=wait)
        if any("trigger" in name for name in value):  # a press is over when it is told
            del self.state.widget_states.widgets[-1]
        return seen

    def rerun(self, *, wait=True, **changes):
        """Ask for a run, with fields of ClientState changed for this once."""
        asked = BackMsg()
        asked.rerun_script.CopyFrom(self.state)
        asked.rerun_script.MergeFrom(ClientState(**changes))
        self.send(asked)
        return self.finished() if wait else None

    def _take(self, message):
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.seen.runs += 1
            self.seen.session_id = message.new_session.initialize.session_id
            if not message.metadata.run.fragment_ids:
                self.seen.elements.clear()
                self.seen.notes.clear()
            if page := message.new_session.page_script_hash:
                self.state.page_script_hash, self.state.page_name = page, ""
        elif kind == "navigation":  # which page of the app this is: the session's first is the main
            self.state.page_script_hash = message.navigation.page_script_hash
            self.state.page_name = ""
        elif kind == "page_info_changed":
            self.seen.query = message.page_info_changed.query_string
            self.state.query_string = self.seen.query
        elif kind == "session_event" and message.session_event.HasField(
            "script_compilation_exception"
        ):
            self.seen.notes.append(message.session_event.script_compilation_exception.message)
        elif kind == "delta":
            self._draw(tuple(message.metadata.delta_path), message.delta)

    def _is_last(self, message):
        """Return whether a run has ended with it, and those that it asked for too."""
        if message.WhichOneof("type") != "script_finished":
            return False
        self.seen.status = message.script_finished
        return message.script_finished != ANOTHER_FOLLOWS

    def _draw(self, place, delta):
        if delta.WhichOneof("type") == "new_element":
            self.seen.elements[place] = delta.new_element
        elif delta.WhichOneof("type") == "add_block":  # a container takes the place of what stood
            for old in [p for p in self.seen.elements if p[: len(place)] == place]:
                if len(old) == len(place):
                    del self.seen.elements[old]


class Session(Talk):
    """One visitor: a connection, the state of its widgets, and what it sees."""

    def __init__(self, url, *, headers=None, patience=patience.SECONDS):
        super().__init__()
        self.patience = patience
        self.connection = connect(
            stream(url),
            origin=url,
            subprotocols=PROTOCOLS,
            additional_headers=headers,
            open_timeout=patience,
            close_timeout=1,
            ping_interval=None,
            max_size=LARGEST_ANSWER,
            compression=None,
            proxy=None,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def send(self, message):
        """Send a BackMsg, or bytes that are none."""
        raw = message if isinstance(message, bytes) else message.SerializeToString()
        try:
            self.connection.send(raw)
        except ConnectionClosed as error:
            raise StuckError(f"closed: {error}") from error

    @property
    def closed(self):
        """Return whether the server has hung up."""
        return self.connection.protocol.state is not State.OPEN

    def receive(self, until=None):
        """The next message, taken into what is seen.

        Raises:
            StuckError: nothing came, or the connection is closed.
        """
        left = self.patience if until is None else max(0.001, until - time.monotonic())
        try:
            raw = self.connection.recv(left)
        except Exception as error:
            raise StuckError(f"{type(error).__name__}: {error}; sees {self.glimpse()}") from error
        message = ForwardMsg.FromString(raw)
        self._take(message)
        return message

    def glimpse(self):
        """The beginnings of some texts, to tell where a run stands."""
        return [text[:60] for text in self.seen.texts if not text.startswith("<style>")][:6]

    def finished(self):
        """Return what is seen when the run has ended, and those that it asked for too.

        Raises:
            StuckError: it has not ended.
        """
        until = time.monotonic() + self.patience
        while True:
            if self._is_last(self.receive(until)):
                return self.seen

    def answers(self, kind):
        """Messages up to the first of a kind (as forwardmsg.proto names it), which is given."""
        until = time.monotonic() + self.patience
        while True:
            message = self.receive(until)
            if message.WhichOneof("type") == kind:
                return getattr(message, kind)
