"""Metrics of this process for a Prometheus: visitors, reruns, the line, cache and memory.

Nothing of them says who did what. Strangers get neither these nor Streamlit's own, unless the
operator opens both; where they are closed nothing is counted, and the library is not imported.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from kvcount.lazy import LazyModule
from ui.engine import queue, shared_cache
from ui.frame import page as frame
from ui.server.answers import answer
from ui.settings.page import Page
from ui.settings.server import server
from ui.streamlit_internals import count_sessions

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram

prometheus, core = LazyModule("prometheus_client"), LazyModule("prometheus_client.core")

PATH = "/metrics"  # ours; Streamlit's is below /_stcore
SECONDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)


class Metrics:
    """Answers with all of them, or hides both."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        asked = scope["type"] == "http" and scope["path"].endswith(PATH)
        if asked and not server().metrics:
            await answer(send, 404, "Not Found")
        elif asked and scope["path"] == PATH:
            text = await run_in_threadpool(prometheus.generate_latest, registry())
            content = prometheus.CONTENT_TYPE_LATEST
            await answer(send, 200, text.decode(), content=content)
        else:
            await self._app(scope, receive, send)


class Now:
    """Collects, for the library, what is read off when it is asked for."""

    def collect(self) -> Iterable[Any]:
        """Yield each metric once."""
        (connected, held), cache = count_sessions(), shared_cache.cache()
        gauges = {
            "mla_visitors": ("Visitors who are connected", connected),
            "mla_sessions": ("Sessions that are kept", held),
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

    def observe(self, page: Page, ended: str, seconds: float) -> None:
        """Count a run of a page that has ended."""
        self.seconds.labels(page.name, ended).observe(seconds)


_watching: list[_Watch] = []  # one, once it watches


def registry() -> "CollectorRegistry":
    """Return all that is counted."""
    return _watching[0].registry


def watch() -> None:
    """Count the runs of pages from now on; the library is imported for it."""
    if not _watching:
        _watching.append(_Watch())
        frame.observers.append(_watching[0].observe)
