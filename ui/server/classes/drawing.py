"""A page's messages for all who follow to one address, drawn once and for no session.

It is run for a session of its own, which knows that address and what a browser says of itself
(language, the app's own address). No upload, answer or edit of anybody is in it.
"""

import asyncio
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from secrets import token_hex
from urllib.parse import urlencode
from weakref import finalize

from ui.settings.page import HOME
from ui.settings.visit import PLAIN
from ui.streamlit_internals import (
    BackMsg,
    ForwardMsg,
    SessionClient,
    close_session,
    hold_media_files,
    media_files,
    open_session,
    release_media_files,
    send_to_session,
)

APART = {"auto_rerun", "stop_auto_rerun", "page_info_changed", "git_info_changed", "page_profile"}
LARGE = 1000  # bytes: a message of more is sent once to who was sent it with the page before
LEVEL = 3  # of gzip
LONGEST = 120.0  # seconds for a page


@dataclass(frozen=True)
class Asked:
    """All that a drawing depends on.

    Args:
        page: by name.
        query: the settings of its address.
        lang: of the browser.
        root: the app's address, as the browser has it.
        moment: drawings of another one are out of date.
        plain: whether it is drawn for a reader without scripts.
    """

    page: str
    query: tuple[tuple[str, str], ...]
    lang: str
    root: str
    moment: int
    plain: bool = False

    @property
    def place(self) -> str:
        """Return a name of the page and its settings, whoever asks and whenever."""
        return _name(repr((self.page, self.query)).encode())


@dataclass(frozen=True, eq=False)
class Drawing:
    """The messages that a drawing gave.

    Args:
        address: the settings that its browser is to show.
        asked: the page.
        messages: in order, each as its place, and the rest if it is large.
        files: those that they name, by their places.
        passes: whether the page would have run itself again.
    """

    address: str
    asked: Asked
    messages: tuple[tuple[bytes, ...], ...]
    files: Mapping[str, str]
    passes: bool
    name: str = field(default_factory=partial(token_hex, 8))
    _made: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold_media_files(self.name, self.files)
        later = asyncio.get_running_loop().call_soon_threadsafe  # whoever lets go may hold a lock
        finalize(self, later, release_media_files, self.name).atexit = False

    def after(self, before: "Drawing | None") -> bytes:
        """Return it for a browser that shows another one: a line of JSON, then bytes, compressed.

        Of a message the line tells how many bytes follow, of its large part the name; the lengths
        of large parts that are new stand before all, where their bytes are.
        """
        key = before.name if before else ""
        if key not in self._made:
            known = before.large() if before else {}
            new = {name: body for name, body in self.large().items() if name not in known}
            rows = [[len(first), *map(_name, rest)] for first, *rest in self.messages]
            told = {"name": self.name, "page": self.asked.page, "query": self.address}
            told["place"] = self.asked.place
            told |= {"new": [[name, len(body)] for name, body in new.items()], "messages": rows}
            bodies = [*new.values(), *(first for first, *_ in self.messages)]
            head = f"{json.dumps(told)}\n".encode()
            self._made[key] = gzip.compress(head + b"".join(bodies), LEVEL, mtime=0)
        return self._made[key]

    def large(self) -> dict[str, bytes]:
        """Return its large parts by their names."""
        return {_name(body): body for _, *rest in self.messages for body in rest}


def _name(body: bytes) -> str:
    return blake2b(body, digest_size=12).hexdigest()


class _Nobody(SessionClient):
    """A visitor without a browser, who keeps what comes."""

    cookies, remote_ip = {}, None

    def __init__(self, headers: tuple[tuple[str, str], ...]) -> None:
        self.headers = headers
        self.got: list[ForwardMsg] = []
        self.ended, self.finished = False, asyncio.Event()

    @property
    def client_context(self) -> "_Nobody":
        """The data that came with the connection."""
        return self

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Take a message that Streamlit sends."""
        kind = msg.WhichOneof("type")
        if kind == "new_session":
            self.got, self.ended = [], False
        self.got.append(msg)
        if kind == "script_finished":  # a page that hands on to another begins anew
            self.ended = msg.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        elif kind == "session_status_changed" and self.ended:
            self.finished.set()


async def draw(asked: Asked) -> Drawing:
    """Draw an address.

    Raises:
        TimeoutError: it took longer than any page does.
    """
    nobody = _Nobody(((PLAIN, "1"),) if asked.plain else ())
    session = open_session(nobody)
    try:
        message = BackMsg()
        rerun, said = message.rerun_script, message.rerun_script.context_info
        rerun.page_name = "" if asked.page == HOME else asked.page
        rerun.query_string = urlencode(asked.query)
        said.locale, said.url = asked.lang, f"{asked.root}/{rerun.page_name}"
        send_to_session(session, message)
        await asyncio.wait_for(nobody.finished.wait(), LONGEST)
        kinds = {one.WhichOneof("type"): one for one in nobody.got}
        told = kinds.get("page_info_changed")
        address = told.page_info_changed.query_string if told else rerun.query_string
        messages = tuple(_parts(nobody.got))
        passes = "auto_rerun" in kinds
        return Drawing(address, asked, messages, media_files(session), passes)
    finally:
        close_session(session)


def _parts(messages: Iterable[ForwardMsg]) -> Iterator[tuple[bytes, ...]]:
    """Yield each in bytes; of a large one its place, which no other page has, stands apart."""
    for message in messages:
        if message.WhichOneof("type") in APART:
            continue
        if message.ByteSize() < LARGE:
            yield (message.SerializeToString(),)
            continue
        place, rest = ForwardMsg(metadata=message.metadata), ForwardMsg()
        place.metadata.cacheable = False  # the follower's own script keeps it
        rest.CopyFrom(message)
        rest.ClearField("metadata")
        yield place.SerializeToString(), rest.SerializeToString()
