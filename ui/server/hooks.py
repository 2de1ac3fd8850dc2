"""What st.App calls: when it starts, and around every request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config

from ui.server.admission import Admission
from ui.server.classes import together
from ui.server.classes.endpoint import Classes
from ui.server.closed import Closed
from ui.server.compressed import Compressed
from ui.server.early import Early
from ui.server.headers import SecurityHeaders
from ui.server.health import Health, prove
from ui.server.logs import as_json
from ui.server.metrics import Metrics, watch
from ui.server.sessions import let_go
from ui.server.unknown import UnknownPages
from ui.server.uploads import Uploads
from ui.server.widgets import tolerate
from ui.settings.server import server


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Prove that the app can be shown, while it answers already."""
    settings = server()
    tolerate()
    if settings.log == "json":
        as_json()
    if settings.metrics:
        watch()
    together.install(asyncio.get_running_loop())
    config.set_option("runner.postScriptGC", False)  # `shared_cache` collects for all runs
    tasks = [asyncio.create_task(one) for one in (prove(), let_go())]
    yield
    for task in tasks:
        task.cancel()


AROUND = (  # from the outside
    SecurityHeaders,
    Health,
    Closed,
    Metrics,
    Admission,
    Classes,
    Uploads,
    UnknownPages,
    Early,
    Compressed,
)
MIDDLEWARE = [Middleware(one) for one in AROUND]
