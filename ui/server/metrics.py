"""What a Prometheus reads at /metrics of a process: visitors, reruns, the line, cache and memory.

Nothing of it says who did what. It is closed as Streamlit's own metrics are, see `closed`; where it
is closed nothing is counted, and the library is not imported.
"""

import time
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent

from mla_engine.late import Late
from ui.engine import queue, shared_cache
from ui.server.answer import answer
from ui.settings.page import HOME
from ui.settings.rooms import PAGES

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram

prometheus, core = Late("prometheus_client"), Late("prometheus_client.core")

PATH = "/metrics"
SECONDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)
ENDED = {
    ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS: "done",
    ScriptRunnerEvent.SCRIPT_STOPPED_FOR_RERUN: "replaced",
    ScriptRunnerEvent.SCRIPT_STOPPED_WITH_COMPILE_ERROR: "failed",
}


class Metrics:
    """Answers with all of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        if scope["type"] == "http" and scope["path"] == PATH:
            text = await run_in_threadpool(prometheus.generate_latest, registry())
            content = prometheus.CONTENT_TYPE_LATEST
            await answer(send, 200, text.decode(), content=content)
        else:
            await self._app(scope, receive, send)


class Now:
    """What is read off when it is asked for: a collector of the library."""

    def collect(self) -> Iterable[Any]:
        """Each of them once."""
        sessions, cache = runtime.get_instance()._session_mgr, shared_cache.cache()
        gauges = {
            "mla_visitors": ("Visitors who are connected", sessions.num_active_sessions()),
            "mla_sessions": ("Sessions that are kept", sessions.num_sessions()),
            "mla_queue_length": ("Turns at work or waiting", queue.length()),
            "mla_cache_bytes": ("What the kept layers and runs hold", cache.held_bytes),
            "mla_cache_limit_bytes": ("What they may hold", cache.budget_bytes),
        }
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            free, total = torch.cuda.mem_get_info()
            gauges["mla_gpu_bytes"] = ("Memory of the GPU in use, by all", total - free)
            gauges["mla_gpu_own_bytes"] = ("By this process", torch.cuda.memory_reserved())
        for name, (told, value) in gauges.items():
            yield core.GaugeMetricFamily(name, told, value)
        yield core.CounterMetricFamily("mla_cache_hits", "Found in the cache", cache.hits)
        yield core.CounterMetricFamily("mla_cache_misses", "Made for the cache", cache.misses)


class _Watch:
    """Counts the runs of pages, from when the server starts."""

    def __init__(self) -> None:
        prometheus.disable_created_metrics()  # a line more for each label, of no use here
        self.registry: CollectorRegistry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)  # memory, processor, descriptors
        self.registry.register(Now())
        self.seconds: Histogram = prometheus.Histogram(
            "mla_rerun_seconds",
            "Runs of a page, from their start to their end",
            ("page", "ended"),
            buckets=SECONDS,
            registry=self.registry,
        )

    def connect(self, runner: ScriptRunner) -> None:
        """Follow the runs of a session."""
        began, page = 0.0, ""

        def told(_sender: object, event: ScriptRunnerEvent, **said: Any) -> None:
            nonlocal began, page
            if event is ScriptRunnerEvent.SCRIPT_STARTED:
                began = time.monotonic()
                name = said["pages"].get(said["page_script_hash"], {}).get("page_name", "")
                page = name if name in PAGES else HOME  # a stranger may have made the name up
            elif event in ENDED:
                self.seconds.labels(page, ENDED[event]).observe(time.monotonic() - began)

        runner.on_event.connect(told, weak=False)


_watching: list[_Watch] = []  # one, once it watches


def registry() -> "CollectorRegistry":
    """All that is counted."""
    return _watching[0].registry


def watch() -> None:
    """Count the runs of every session that begins from now on; the library is imported for it."""
    if not _watching:
        _watching.append(_Watch())
        ScriptRunner.__init__ = _watched(ScriptRunner.__init__)


def _watched(begin: Callable[..., None]) -> Callable[..., None]:
    @wraps(begin)
    def begun(runner: ScriptRunner, *args: Any, **kwargs: Any) -> None:
        begin(runner, *args, **kwargs)
        _watching[0].connect(runner)

    return begun
