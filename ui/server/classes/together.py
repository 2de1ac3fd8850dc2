"""The pages of those who follow a lecturer: a page is run once for all of them.

A follower's browser goes where the lecturer is only by the address, as the Back button does, so
what it is to see follows from that address, and from the sections that it has come to. A session
that has more of its own, as answers, has a run of its own. The others owe theirs: they make up for
it, unheard, before the next thing that they are asked for. Callbacks, fragments and state are then
as if the page had been run for them.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from ui.frame.page import note_uploads
from ui.parts import typed
from ui.server.classes import bundle
from ui.server.classes.drawing import Asked, Drawing, drawing
from ui.settings.page import HOME
from ui.settings.rooms import PAGES, SETTINGS
from ui.settings.shared import LANGUAGES
from ui.streamlit_internals import (
    ClientState,
    RerunData,
    ScriptRunner,
    SessionState,
    hold_media_files,
    is_run_given_up,
    is_widget,
    names_in,
    page_of,
    release_media_files,
    send_as_run,
    session_of,
    state_of,
    unheard,
    wrap_has_fragment,
    wrap_runs,
)

MOMENT_SECONDS = 20.0
OWED = "owed"  # in the session
# What a run that an address leads finds new there, or `Asked` says: all else is a reader's own.
COMMON = {"settings", "page", "written", "links", "visit", "reached", OWED}
COMMON |= {"opening", "opens", "compression_seen"}  # of which nothing stays on the screen

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
    wrap_runs(partial(_together, loop=loop))
    wrap_has_fragment(_or_owed)
    bundle.install()


def _together(run: Run, loop: asyncio.AbstractEventLoop) -> Run:
    @wraps(run)
    def led(runner: ScriptRunner, asked: RerunData) -> None:
        state = state_of(runner)
        wanted = _wanted(runner, asked)
        if wanted and (drawn := drawing(wanted, loop)).parts:
            if not is_run_given_up(runner):
                _take(runner, asked, wanted, drawn)
            return
        if (owed := _of(state, OWED)) and not _by_address(asked):
            _make_up(run, runner, owed)
        if owed and not is_run_given_up(runner):
            del state[OWED]
        run(runner, asked)

    return led


def _or_owed(has: Callable[..., bool]) -> Callable[..., bool]:
    """A session that owes a run has the fragments of that page, once it is made up for."""

    @wraps(has)
    def had(session: Any, fragment: str) -> bool:
        return has(session, fragment) or _of(session.session_state, OWED) is not None

    return had


def _of(state: SessionState, name: str, otherwise: Any = None) -> Any:
    return state[name] if name in state else otherwise  # noqa: SIM401 - it has no `get`


def _by_address(asked: RerunData) -> bool:
    """Tell whether only the address changed: the Back button, or a follower's browser."""
    return asked.is_history_navigation and not asked.fragment_id_queue


def _wanted(runner: ScriptRunner, asked: RerunData) -> Asked | None:
    """Return what is to be drawn, where others may be shown the same."""
    state = state_of(runner)
    if "page" not in state or _presses(asked) or any(_own(state)):
        return None
    if owed := _of(state, OWED):
        come_to = [owed.waiting.get(fragment) for fragment in asked.fragment_id_queue]
        if come_to and None not in come_to:
            reached = owed.shown.reached.union(come_to)
            return replace(owed.shown, reached=reached, moment=_moment())
    said = parse_qs(asked.query_string, keep_blank_values=True)
    if not _by_address(asked) or "room" not in said:
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
        _moment(),
    )


def _moment() -> int:
    return int(monotonic() // MOMENT_SECONDS)


def _presses(asked: RerunData) -> bool:
    """Tell whether something was pressed as well."""
    widgets = asked.widget_states.widgets if asked.widget_states else ()
    return any("trigger" in (widget.WhichOneof("value") or "") for widget in widgets)


def _own(state: SessionState) -> Iterator[str]:
    """Return what a session has that no address says: answers, a key, a fault to be told."""
    for name in names_in(state):
        if is_widget(name) or name in COMMON or _shows(name):
            continue
        value = state[name]
        if getattr(value, "seen", value):  # of the clicker, its presses
            yield name


def _shows(name: str) -> bool:
    """Tell whether it is the key of a control, which takes its setting's value when drawn."""
    setting, _, language = name.removesuffix(typed.KEY).partition(":")
    return setting in SETTINGS and language in LANGUAGES


def _page(runner: ScriptRunner, asked: RerunData) -> str:
    """The name of the page; one that there is not leads home."""
    name = page_of(runner, asked)
    return name if name in PAGES else HOME


def _take(runner: ScriptRunner, asked: RerunData, wanted: Asked, drawn: Drawing) -> None:
    """Show a drawing, and owe the run."""
    state, owed = state_of(runner), _of(state_of(runner), OWED)
    led_by = asked if _by_address(asked) else owed.asked
    send_as_run(runner, led_by, drawn.messages(asked.cached_message_hashes))
    state["page"], state["reached"] = wanted.page, (wanted.page, set(wanted.reached))
    state[OWED] = Owed(led_by, wanted, drawn.files, drawn.waiting)
    note_uploads(PAGES[wanted.page])
    release_media_files(session_of(runner))
    hold_media_files(session_of(runner), drawn.files)


def _make_up(run: Run, runner: ScriptRunner, owed: Owed) -> None:
    """Run the page that the session shows already, without a word and without being interrupted."""
    with unheard(runner):
        run(runner, owed.asked)
    shown = {f"shown {place}": file for place, file in owed.files.items()}
    hold_media_files(session_of(runner), shown)  # the browser has their names still
