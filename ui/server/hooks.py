"""The calls of st.App: when it starts, and around every request; its health among them."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import NoReturn

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.engine import shared_cache
from ui.server import heads, logs, metrics, real_model
from ui.server.admission import Admission
from ui.server.answers import SecurityHeaders, UnknownPages, answer
from ui.server.classes.endpoint import Classes
from ui.server.plain.answers import Plain
from ui.server.scripts import Compressed, Preloaded
from ui.server.start import why
from ui.server.uploads import Uploads
from ui.settings.server import server
from ui.streamlit_internals import (
    close_expired_sessions,
    first_page_runs,
    keep_fragments_to_their_page,
    pass_over_unreadable_widgets,
)

PROVED = asyncio.Event()
OWN = "/healthz"
PATHS = "/_stcore/health", OWN
ANSWERS = {"http": "http.response", "websocket": "websocket.http.response"}
LATER = ("openpyxl",)  # what the first picture does not need
GRACE_SECONDS = 5.0
ROUND_SECONDS = 20.0  # between two looks for sessions that are over


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Prove that the app can be shown, while it answers already."""
    logs.configure(server().log)  # again: since the app was checked the server has set up its own
    pass_over_unreadable_widgets()
    keep_fragments_to_their_page()
    heads.bound()
    if server().metrics:
        metrics.watch()
    works = (prove(), close_sessions(), real_model.fetch(PROVED))
    tasks = [asyncio.create_task(one) for one in works]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=GRACE_SECONDS)  # what they have started ends with them


async def prove() -> None:
    """Start the engine, and run the overview as a visit does; where one fails, the process ends.

    Streamlit's own check (server.scriptHealthCheckEnabled) runs it at every request for the health.
    """
    try:
        await asyncio.to_thread(shared_cache.engine)
    except Exception as error:  # whatever a cluster may raise
        _stop(f"its engine does not start: {' '.join(str(error).split())}")
    while not PROVED.is_set():
        well, told = await first_page_runs()
        if well:
            PROVED.set()
            logs.leave_errors_to_us()  # of this run Streamlit itself logs what failed
            sys.stdout.write("MLA Explorer is ready.\n")
            sys.stdout.flush()
            await asyncio.to_thread(_import_the_rest)
        elif told != "timeout":  # a slow machine gets as long as it needs
            _stop("its first page failed; the log above says how")


def _import_the_rest() -> None:
    """Import what a first table or code would wait for."""
    for name in LATER:
        import_module(name)
    gc.collect()
    gc.freeze()  # as the page itself did, see `queue.warm_up`


def _stop(reason: str) -> NoReturn:
    """End the process at once: SystemExit in a task would be told by every task around it."""
    sys.stderr.write(f"{why(reason)}\n")
    sys.stderr.flush()
    os._exit(1)


async def close_sessions() -> None:
    """Give back memory, files and sockets of visitors who have left, as long as the server runs.

    After a class nobody comes or leaves, on which Streamlit would do it. Without it fails
    tests/load/test_load.py, who has left leaves nothing: 38 files stayed open of 8 visitors.
    """
    while True:
        await asyncio.sleep(ROUND_SECONDS)
        close_expired_sessions()


class Health:
    """Answers that the server is not ready until a page has been run; /healthz, that it is.

    Where several processes share the machine, one that is not ready takes nobody: the proxy asks
    the next.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        path, kind = scope.get("path", ""), ANSWERS.get(scope["type"])
        asked = path.endswith(PATHS) or server().processes > 1
        if kind and asked and not PROVED.is_set():
            await answer(send, 503, "starting", kind=kind)
        elif kind and path.endswith(OWN):
            await answer(send, 200, "ok", kind=kind)
        else:
            await self._app(scope, receive, send)


AROUND = (  # from the outside
    SecurityHeaders,
    Health,
    metrics.Metrics,
    Classes,  # who follows a lecture takes no seat
    Admission,
    Uploads,
    UnknownPages,
    Plain,
    Preloaded,
    Compressed,
)
MIDDLEWARE = [Middleware(one) for one in AROUND]
