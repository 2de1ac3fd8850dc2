"""Processes of the app, as many as are asked for, and what they take of the machine."""

import resource
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.measuring import Bare, bare_app, cpu_seconds
from tests.attacks.server import MIB, App, healthy, started, wait_until

Fleet = list[App]


@contextmanager
def fleet(
    processes: int, environment: Mapping[str, str] | None = None, **given: object
) -> Iterator[Fleet]:
    """Start that many processes, and wait until all are ready; the rest as of `started`."""
    room_for_descriptors()
    with ExitStack() as stack:
        apps = [stack.enter_context(started(environment, **given)) for _ in range(processes)]
        for app in apps:
            wait_until(partial(healthy, app), "a server is healthy")
        yield apps


@contextmanager
def bare_fleet() -> Iterator[Fleet]:
    """One process of the bare page: a slider and two heatmaps."""
    room_for_descriptors()
    with bare_app(Bare()) as app:
        yield [app]


def room_for_descriptors() -> None:
    """Allow as many open files and sockets as this process may have: its visitors are one each."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@dataclass(frozen=True)
class Taken:
    """The time and processor seconds of some processes between two moments."""

    seconds: float
    server_seconds: float
    client_seconds: float

    def row(self) -> dict[str, float]:
        """Return how many cores were busy, as columns of a table."""
        return {
            "server cores": self.server_seconds / self.seconds,
            "client cores": self.client_seconds / self.seconds,
        }


def meter(apps: Fleet) -> Callable[[], Taken]:
    """Begin to measure; the function that it gives ends it."""
    began = time.monotonic(), sum(map(cpu_seconds, apps)), time.process_time()

    def taken() -> Taken:
        now = time.monotonic(), sum(map(cpu_seconds, apps)), time.process_time()
        return Taken(*(after - before for before, after in zip(began, now, strict=True)))

    return taken


def held(apps: Fleet) -> dict[str, float]:
    """Return the memory of all processes with their workers, as columns of a table."""
    return {"MiB": sum(app.resident_bytes() for app in apps) / MIB}
