"""A cache of answers for one run of a page."""

import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ui.streamlit_internals import current_run

P, R = ParamSpec("P"), TypeVar("R")


class _Run(threading.local):
    """The run in this thread with its answers: they go with the thread, or at the next run."""

    here: object = None
    answers: dict[Hashable, Any]


_run = _Run()


def once(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that says the same for the same arguments until the next run begins."""

    @wraps(function)
    def asked(*args: P.args) -> R:
        here = current_run()
        if here is None:
            return function(*args)
        if _run.here is not here:
            _run.here, _run.answers = here, {}
        key = function, args
        if key not in _run.answers:
            _run.answers[key] = function(*args)
        return _run.answers[key]

    return asked


def anew() -> None:
    """A run begins: what was answered before is asked again."""
    _run.here = None
