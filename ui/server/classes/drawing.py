"""A page's messages for all who follow to one address, drawn once and for no session.

It is run for a session of its own, which knows that address and what a browser says of itself
(language, theme, time zone, the app's own address). No upload, answer or edit of anybody is in it.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, groupby
from weakref import finalize

from ui.engine import shared_cache
from ui.parts import sections
from ui.server.classes.bundle import MOST, Bundle, Sent, is_drawn
from ui.streamlit_internals import (
    BackMsg,
    ClientState,
    ForwardMsg,
    ForwardMsgQueue,
    SessionClient,
    close_session,
    hold_media_files,
    media_files,
    open_session,
    ran_without_errors,
    release_media_files,
    send_to_session,
    state_of,
)

BESIDE = {"new_session", "script_finished", "session_status_changed"}  # each session's own
ALONE = {"auto_rerun", "page_not_found"}  # of a page that is not as it should be
WAITS = f"-{sections.KEY}"
_numbers = count()


@dataclass(frozen=True)
class Asked:
    """All that a drawing depends on.

    Args:
        state: a `ClientState` with an address and what a browser says of itself, as bytes.
        page: by name.
        reached: the sections of the page that the reader has come to.
        moment: drawings of another one are out of date.
    """

    state: bytes
    page: str
    reached: frozenset[str]
    moment: int


@dataclass(frozen=True, eq=False)
class Drawing:
    """The messages that a drawing gave.

    Args:
        parts: what the page sent, in order; none where each is to have a run of their own.
        files: those that it named, by their places.
        waiting: the sections that wait to be reached, by their fragments.
    """

    parts: tuple[ForwardMsg | tuple[Sent, ...], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = f"drawing {next(_numbers)}"
        hold_media_files(name, self.files)
        later = asyncio.get_running_loop().call_soon_threadsafe  # whoever lets go may hold a lock
        finalize(self, later, release_media_files, name).atexit = False

    def messages(self, known: frozenset[str]) -> Iterator[ForwardMsg | Bundle]:
        """Yield the messages for a browser that knows some of them by their names."""
        for part in self.parts:
            yield Bundle(part, known) if isinstance(part, tuple) else part


class _Nobody(SessionClient):
    """A visitor without a browser, who keeps what comes."""

    headers, cookies, remote_ip = (("host", "nobody"),), {}, None  # somebody may scroll here

    def __init__(self) -> None:
        self.got, self.kinds = ForwardMsgQueue(), set()
        self.finished, self.status = asyncio.Event(), None

    @property
    def client_context(self) -> "_Nobody":
        """The data that came with the connection."""
        return self

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Take a message that Streamlit sends."""
        kind = msg.WhichOneof("type")
        self.kinds.add(kind)
        if kind not in BESIDE:
            self.got.enqueue(msg)
        elif kind == "script_finished":
            self.status = msg.script_finished
            self.finished.set()


@shared_cache.cached(key=lambda asked, _loop: asked)
def drawing(asked: Asked, loop: asyncio.AbstractEventLoop) -> Drawing:
    """The drawing of an address, by the server's `loop`; whoever asks meanwhile waits for it."""
    return asyncio.run_coroutine_threadsafe(_draw(asked), loop).result()


async def _draw(asked: Asked) -> Drawing:
    nobody = _Nobody()
    name = open_session(nobody)
    try:
        state = state_of(name)
        state.reset_state_value("reached", (asked.page, set(asked.reached)))
        send_to_session(name, BackMsg(rerun_script=ClientState.FromString(asked.state)))
        await nobody.finished.wait()
        well = nobody.status == ForwardMsg.FINISHED_SUCCESSFULLY and ran_without_errors(state)
        if not well or nobody.kinds & ALONE:
            return Drawing()
        messages = nobody.got.flush()
        return Drawing(tuple(_parts(messages)), media_files(name), dict(_waiting(messages)))
    finally:
        close_session(name)


def _parts(messages: Iterable[ForwardMsg]) -> Iterator[ForwardMsg | tuple[Sent, ...]]:
    for drawn, group in groupby(messages, is_drawn):
        if drawn:
            sent = tuple(map(Sent.of, group))
            yield from (sent[at : at + MOST] for at in range(0, len(sent), MOST))
        else:
            yield from group


def _waiting(messages: Iterable[ForwardMsg]) -> Iterator[tuple[str, str]]:
    for message in messages:
        _, waits, section = message.delta.new_element.bidi_component.id.partition(WAITS)
        if waits:
            yield message.delta.fragment_id, section
