"""The server is well only when a page has been run: /healthz says so from then on."""

import asyncio
import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime

from ui.engine import shared_cache
from ui.frame.fault import one_log_line
from ui.server import warm
from ui.server.answer import answer
from ui.server.start import why
from ui.settings.server import server

PROVED = asyncio.Event()
OWN = "/healthz"
PATHS = "/_stcore/health", OWN
ANSWERS = {"http": "http.response", "websocket": "websocket.http.response"}
LATER = "pandas", "openpyxl", "segno"


async def prove() -> None:
    """Start the engine, and run the overview as a visit does; where one fails, the process ends.

    Streamlit's own check (server.scriptHealthCheckEnabled) runs it at every request for the health.
    """
    try:
        await asyncio.to_thread(shared_cache.engine)
    except Exception as error:  # whatever a cluster may raise
        _stop(f"its engine does not start: {' '.join(str(error).split())}")
    while not PROVED.is_set():
        well, told = await runtime.get_instance().does_script_run_without_error()
        if well:
            if server().warm:
                await warm.pages()
            PROVED.set()
            one_log_line()  # of this run Streamlit itself logs what failed
            sys.stdout.write("MLA Explorer is ready.\n")
            sys.stdout.flush()
            await asyncio.to_thread(_import_the_rest)
        elif told != "timeout":  # a slow machine gets as long as it needs
            _stop("its first page failed; the log above says how")


def _import_the_rest() -> None:
    """What the first picture did not need: nobody waits for it at a first table or code."""
    for name in LATER:
        import_module(name)
    gc.collect()
    gc.freeze()  # as the page itself did, see `queue.warm_up`


def _stop(reason: str) -> NoReturn:
    """End the process at once: SystemExit in a task would be told by every task around it."""
    sys.stderr.write(f"{why(reason)}\n")
    sys.stderr.flush()
    os._exit(1)


class Health:
    """Answers that the server is not ready, until it is.

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
