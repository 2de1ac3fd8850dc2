"""Who follows a lecturer gets what the page sends for all of them: it is run once, for nobody.

A follower's browser goes where the lecturer is by the address alone, as the Back button does, so
what it is to see follows from that address, and from the sections that it has come to. A session
that has more of its own, as answers, has a run of its own. The others owe theirs: they make up for
it, unheard, before the next thing that they are asked for. Callbacks, fragments and state are then
as if the page had been run for them.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial, wraps
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.run_descriptor import RunDescriptor
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX as INTERNAL
from streamlit.runtime.state.session_state import SessionState
from streamlit.signal_util import Signal

from ui.frame import uploads
from ui.parts import typed
from ui.parts.questions import NO_STATE
from ui.server.classes import bundle
from ui.server.classes.drawing import Asked, Drawing, drawing, hold
from ui.settings.page import HOME
from ui.settings.rooms import PAGES, SETTINGS
from ui.settings.shared import LANGUAGES

MOMENT_SECONDS = 20.0
OWED = "owed"  # in the session
# What a run that an address leads finds anew there, or `Asked` says: all else is a reader's own.
COMMON = {"settings", "page", "written", "links", "visit", "reached", "guess_links", OWED}
COMMON |= {"compression_seen"}  # of which nothing stays on the screen

Run = Callable[[ScriptRunner, RerunData], None]


@dataclass(frozen=True)
class Owed:
    """A run that a session has not had, and what is left of the drawing in its place.

    Args:
        asked: the run.
        shown: what was drawn.
        files: as of `Drawing`.
        waiting: as of `Drawing`.
    """

    asked: RerunData
    shown: Asked
    files: Mapping[str, str]
    waiting: Mapping[str, str]


def install(loop: asyncio.AbstractEventLoop) -> None:
    """Let followers be drawn for together; `loop` is the server's."""
    if not hasattr(ScriptRunner._run_script, "together"):
        ScriptRunner._run_script = _together(ScriptRunner._run_script, loop)
        AppSession.has_fragment = _or_owed(AppSession.has_fragment)
        bundle.install()


def _together(run: Run, loop: asyncio.AbstractEventLoop) -> Run:
    @wraps(run)
    def led(runner: ScriptRunner, asked: RerunData) -> None:
        state = runner._session_state._state
        wanted = _wanted(runner, asked)
        if wanted and (drawn := drawing(wanted, loop)).parts:
            if not _is_over(runner):
                _take(runner, asked, wanted, drawn)
            return
        if (owed := _of(state, OWED)) and not _anew(asked):
            _make_up(run, runner, owed)
        if owed and not _is_over(runner):
            del state[OWED]
        run(runner, asked)

    led.together = True
    return led


def _or_owed(has: Callable[[AppSession, str], bool]) -> Callable[[AppSession, str], bool]:
    """A session that owes a run has the fragments of that page, once it is made up for."""

    @wraps(has)
    def had(session: AppSession, fragment: str) -> bool:
        return has(session, fragment) or _of(session.session_state, OWED) is not None

    return had


def _of(state: SessionState, name: str, otherwise: Any = None) -> Any:
    return state[name] if name in state else otherwise  # noqa: SIM401 - it has no `get`


def _anew(asked: RerunData) -> bool:
    """Whether the address alone leads: the Back button, or a follower's browser."""
    return asked.is_history_navigation and not asked.fragment_id_queue


def _is_over(runner: ScriptRunner) -> bool:
    """Whether another run takes the place of this one."""
    return runner._requests._state is ScriptRequestType.STOP


def _wanted(runner: ScriptRunner, asked: RerunData) -> Asked | None:
    """What is to be drawn, where others may be shown the same."""
    state = runner._session_state._state
    if "page" not in state or _presses(asked) or any(_own(state)):
        return None
    if owed := _of(state, OWED):
        come_to = [owed.waiting.get(fragment) for fragment in asked.fragment_id_queue]
        if come_to and None not in come_to:
            reached = owed.shown.reached.union(come_to)
            return replace(owed.shown, reached=reached, moment=_moment())
    said = parse_qs(asked.query_string, keep_blank_values=True).keys()
    if not _anew(asked) or "room" not in said:
        return None
    page, (before, reached) = _page(runner, asked), _of(state, "reached", ("", ()))
    led_by = ClientState(
        query_string=asked.query_string,
        page_script_hash=asked.page_script_hash,
        page_name=asked.page_name,
        is_history_navigation=True,
        context_info=asked.context_info,
    )
    return Asked(
        led_by.SerializeToString(deterministic=True),
        page,
        frozenset(reached if before == page else ()),
        said <= NO_STATE and page in _of(state, "guess_links", ()),
        _moment(),
    )


def _moment() -> int:
    return int(monotonic() // MOMENT_SECONDS)


def _presses(asked: RerunData) -> bool:
    """Whether something was pressed as well."""
    widgets = asked.widget_states.widgets if asked.widget_states else ()
    return any("trigger" in (widget.WhichOneof("value") or "") for widget in widgets)


def _own(state: SessionState) -> Iterator[str]:
    """What a session has that no address says: answers, a key, a fault that is to be told."""
    for name in {*state._old_state, *state._new_session_state}:
        if is_element_id(name) or name.startswith(INTERNAL) or name in COMMON or _shows(name):
            continue
        value = state[name]
        if getattr(value, "seen", value):  # of the clicker, its presses
            yield name


def _shows(name: str) -> bool:
    """Whether it is the key of a control, which takes its setting's value before it is drawn."""
    setting, _, language = name.removesuffix(typed.KEY).partition(":")
    return setting in SETTINGS and language in LANGUAGES


def _page(runner: ScriptRunner, asked: RerunData) -> str:
    """The name of the page; one that there is not leads home."""
    there = runner._pages_manager.get_pages().get(asked.page_script_hash, {})
    name = asked.page_name or there.get("url_pathname", "")
    return name if name in PAGES else HOME


def _take(runner: ScriptRunner, asked: RerunData, wanted: Asked, drawn: Drawing) -> None:
    """Show a drawing, and owe the run."""
    state, owed = runner._session_state._state, _of(runner._session_state._state, OWED)
    led_by = asked if _anew(asked) else owed.asked
    _show(runner, led_by, drawn, asked.cached_message_hashes)
    came = {*_of(state, "guess_links", ())} | ({wanted.page} if drawn.linked else set())
    state["page"], state["guess_links"] = wanted.page, came
    state["reached"] = wanted.page, set(wanted.reached)
    state[OWED] = Owed(led_by, wanted, drawn.files, drawn.waiting)
    uploads.note(PAGES[wanted.page])
    hold(runner._session_id, drawn.files, anew=True)


def _show(runner: ScriptRunner, asked: RerunData, drawn: Drawing, kept: frozenset[str]) -> None:
    """Send what a run would send."""
    pages, run = runner._pages_manager, RunDescriptor.create()
    pages.set_script_intent(asked.page_script_hash, asked.page_name)
    page = pages.get_initial_active_script(asked.page_script_hash)["page_script_hash"]
    tell = partial(runner.on_event.send, runner)
    tell(
        event=ScriptRunnerEvent.SCRIPT_STARTED,
        page_script_hash=page,
        fragment_ids_this_run=None,
        pages=pages.get_pages(),
        run_descriptor=run,
    )
    for message in drawn.messages(kept):
        tell(event=ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, forward_msg=message)
    tell(event=ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS, run_descriptor=run)


def _make_up(run: Run, runner: ScriptRunner, owed: Owed) -> None:
    """Run the page that the session shows already, without a word and without being interrupted."""
    heard, runner.on_event = runner.on_event, Signal()
    runner._set_execing_flag = nullcontext
    try:
        run(runner, owed.asked)
    finally:
        runner.on_event = heard
        del runner._set_execing_flag
    shown = {f"shown {place}": file for place, file in owed.files.items()}
    hold(runner._session_id, shown)  # the browser has their names still
