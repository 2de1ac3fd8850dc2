"""One run of a page: its `Visit`, an object in the session, and answers given once in it."""

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import streamlit as st

from ui.settings.page import Page
from ui.settings.server import server
from ui.streamlit_internals import DeltaGenerator, current_run

if TYPE_CHECKING:
    import pandas as pd  # which the workers, that import this file, do without

PLAIN = "x-plain"  # a header of who reads without scripts
P, R = ParamSpec("P"), TypeVar("R")


@dataclass
class Visit:
    """One run of a page.

    Args:
        page: the page that runs.
        asked: the settings that its link named.
        failed: why the real layer that a link names could not be read.
        places: where controls stand that are drawn in the bar of lecture mode.
        on_cell: takes a click on a cell of its charts: {"chart", "x", "y"}.
        top: above the title, for what goes wrong; None until the ways to other pages are drawn.
        blocks: of the scene, the tensors that a step of the story is about; none are all.
        menu: where the menu takes the page's data, once all of them are drawn.
        tables: what the page hands out, by keys: the name of a file, what makes its table.
        look: keys of the elements that a step of the story is about.
        corner: the place where the reader is told who else waits, empty until it is drawn.
        busy: whether a button is drawn that runs the page again, as the queue was full.
        offered: what the page has to ask of a class, as JSON; None without a lecturer.
        explained: the terms of the glossary that have stood on the page.
    """

    page: Page
    asked: frozenset[str] = frozenset()
    failed: ValueError | None = None
    places: dict[str, AbstractContextManager] = field(default_factory=dict)
    on_cell: Callable[[dict[str, Any]], None] | None = None
    top: AbstractContextManager | None = None
    blocks: tuple[str, ...] = ()
    menu: DeltaGenerator | None = None
    tables: dict[str, tuple[str, Callable[[], "pd.DataFrame"]]] = field(default_factory=dict)
    look: tuple[str, ...] = ()
    corner: tuple[int, ...] = ()
    busy: bool = False
    offered: str | None = None
    explained: set[str] = field(default_factory=set)


def begin(page: Page) -> Visit:
    """Begin a run: make its visit, and forget what was answered in the run before.

    Until the page listens anew its charts are those of the run before, and told as then.
    """
    _answered.run = None
    before = st.session_state.get("visit")
    heard = before.on_cell if before and before.page is page else None
    st.session_state.visit = Visit(page, on_cell=heard)
    return st.session_state.visit


def visit() -> Visit:
    """Return the visit of this run; in a callback that of the run before."""
    return st.session_state.visit


def is_plain() -> bool:
    """Tell whether the page is drawn for a reader without scripts, who presses nothing."""
    return PLAIN in st.context.headers


def is_watched() -> bool:
    """Tell whether a browser shows the page; in a test of it, or for a copy, nobody scrolls."""
    return bool(st.context.headers) and not server().recorded and not is_plain()


class _Answered(threading.local):
    """The run in this thread with its answers: they go with the thread, or at the next run."""

    run: object = None
    answers: dict[Hashable, Any]


_answered = _Answered()


def once_per_run(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that returns the same for the same arguments within one run of a page."""

    @wraps(function)
    def asked(*args: P.args) -> R:
        run = current_run()
        if run is None:
            return function(*args)
        if _answered.run is not run:
            _answered.run, _answered.answers = run, {}
        key = function, args
        if key not in _answered.answers:
            _answered.answers[key] = function(*args)
        return _answered.answers[key]

    return asked
