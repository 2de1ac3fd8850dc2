"""The engine on a cluster of Ray: replicas of Ray Serve do the work, as many as it takes.

A replica is a process like ours without pages: it works off what it is given in a queue and keeps
layers and results within a budget of its own. What is asked for names a function of the project,
so that every machine of the cluster has the project where this one has it.
"""

import asyncio
import os
import pkgutil
import threading
from collections import defaultdict
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, is_dataclass
from functools import partial
from itertools import chain
from secrets import token_hex
from typing import TypeVar

from kvcount.refusals import RefusedError
from ui.engine import job_owner, queue
from ui.engine.shared_cache import SharedCache
from ui.settings.server import Server, server

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # or a call after the end would start another cluster
import ray
from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from ray.serve.handle import DeploymentHandle, DeploymentResponse

NAME = "mla-explorer"
GIB = 2**30
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
QUIET_REPLICAS = {"log_level": "ERROR", "enable_access_log": False}
R = TypeVar("R")


@dataclass(frozen=True)
class Line:
    """The workers and those who wait.

    Args:
        at_once: pieces of work that a replica has begun; its queue lets them go on by turns.
        waiting: those that no replica has taken yet; of more one is refused.
        enough: for a replica; with more another is started.
    """

    at_once: int = 8
    waiting: int = queue.MOST_WAITING
    enough: float = 2.0


class LeftError(BaseException):
    """The visitor has left, or asks for something newer: his work ends."""


class OnRay:
    """Hands the work to the replicas; what comes back is kept here as well."""

    def __init__(self, cache: SharedCache, handle: DeploymentHandle, line: Line) -> None:
        self._cache, self._handle, self._line = cache, handle, line
        self._asked: list[DeploymentResponse] = []  # by this process, in their order

    def get(self, key: Hashable, work: "partial[R]") -> R:
        """Return the result of a key; who asks for none that is kept waits his turn for it.

        What needs a checkpoint is done here, where its files are.

        Args:
            key: of the result in the cache.
            work: a function of the project with its arguments, which takes its own turn.

        Raises:
            RefusedError: as the work.
            FullError: too much waits, or what worked on it has gone: it may be asked for again.
        """
        return self._cache.get(key, partial(self._done, work))

    def _done(self, work: partial) -> object:
        if any(map(_is_here, chain(work.args, work.keywords.values()))):
            return work()
        job_owner.stop_if_gone()
        found = self._answered(self._ask(work))
        if isinstance(found, RefusedError):
            raise found
        return found

    def _ask(self, work: partial) -> DeploymentResponse:
        name = f"{work.func.__module__}:{work.func.__qualname__}"
        if hasattr(work.func, "batch"):
            return self._handle.batch.remote(name, work.args)
        return self._handle.remote(name, work.args, work.keywords, str(job_owner.current()))

    def _answered(self, asked: DeploymentResponse) -> object:
        self._asked.append(asked)
        try:
            with queue.aside():
                return self._awaited(asked)
        except BackPressureError:
            raise queue.FullError("waiting", most=self._line.waiting) from None
        except RayTaskError:  # a mistake in the code
            raise
        except (RayError, DeploymentUnavailableError) as error:
            raise queue.FullError("engine_lost") from error
        finally:
            self._asked.remove(asked)
            job_owner.show_place(0)

    def _awaited(self, asked: DeploymentResponse) -> object:
        while True:
            try:
                return asked.result(timeout_s=queue.POLL_SECONDS)
            except TimeoutError as error:
                if isinstance(error, RayTaskError):
                    raise
            try:
                job_owner.stop_if_gone()
            except BaseException:
                asked.cancel()
                raise
            job_owner.show_place(self._asked.index(asked))


def _is_here(value: object) -> bool:
    """Tell whether it, or a part of it, is a thing that this server alone may read."""
    if is_dataclass(value):
        return getattr(value, "stays_here", False) or any(map(_is_here, vars(value).values()))
    return isinstance(value, tuple) and any(map(_is_here, value))


class Replica:
    """Works in a process of Ray's. `settings` are the variables of its own."""

    def __init__(self, settings: dict[str, str], line: Line) -> None:
        os.environ.update(settings)
        self._threads = ThreadPoolExecutor(line.at_once)
        queue.warm_up()

    async def __call__(self, name: str, args: tuple, keywords: dict, visitor: str) -> object:
        """Return what the function of this name returns, or the refusal that it raised."""
        left = threading.Event()
        call = partial(self._worked, left, visitor, name, args, keywords)
        work = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            left.set()
            await asyncio.wait([work])  # the place is free when the work has ended
            raise

    @serve.batch(max_batch_size=Line.at_once, batch_wait_timeout_s=0.0)
    async def batch(self, names: list[str], given: list[tuple]) -> list[object]:
        """Return what the functions return or refuse; calls that waited are done at once."""
        places = defaultdict(list)
        for place, name in enumerate(names):
            places[name].append(place)
        found, loop = {}, asyncio.get_running_loop()
        for name, those in places.items():
            call = partial(_at_once, name, [given[place] for place in those])
            found |= zip(those, await loop.run_in_executor(self._threads, call), strict=True)
        return [found[place] for place in range(len(names))]

    def _worked(
        self, left: threading.Event, visitor: str, name: str, args: tuple, keywords: dict
    ) -> object:
        with job_owner.acting_for(visitor, partial(_end_if, left)):
            try:
                return pkgutil.resolve_name(name)(*args, **keywords)
            except RefusedError as error:
                return error


def _at_once(name: str, given: list[tuple]) -> list[object]:
    """Do each job by itself where all together are refused as too large."""
    try:
        return pkgutil.resolve_name(name).batch(given)
    except RefusedError as error:
        return [error] if len(given) == 1 else [_at_once(name, [one])[0] for one in given]


def _end_if(left: threading.Event) -> None:
    if left.is_set():
        raise LeftError


def engine(cache: SharedCache) -> OnRay:
    """Return the engine that the settings ask for, on a cluster that is joined or started."""
    ours, line = server(), Line()
    join(ours)
    try:
        handle = serve.get_app_handle(NAME)  # another process of this app had it deployed
    except serve.exceptions.RayServeException:
        handle = deploy(NAME, ours, line)
    return OnRay(cache, handle, line)


def join(ours: Server) -> None:
    """Join the cluster that RAY_ADDRESS names, or else start one for this process."""
    if ray.is_initialized():
        return
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**QUIET)
    else:
        start(ours)


def start(ours: Server, **options: object) -> None:
    """Start a cluster on this machine that ends with this process and that no other may join."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_TOKEN"] = token_hex(32)  # Ray listens on every address of the machine
    kept = ours.share(ours.cache_budget_gib * GIB)  # what came back lies in Ray's own memory
    memory = kept + int(ours.memory_budget_gib * GIB)
    own = {"address": "local", "include_dashboard": False, "object_store_memory": memory}
    ray.init(**QUIET, **own, **options)


def deploy(name: str, ours: Server, line: Line, **options: object) -> DeploymentHandle:
    """Have replicas started; no port of Serve's is opened. Others wait until the first is ready."""
    serve.start(proxy_location="Disabled", logging_config=QUIET_REPLICAS)
    told = {
        "MLA_ENGINE": "process",
        "MLA_MEMORY_BUDGET_GIB": str(ours.memory_budget_gib),
        "MLA_CACHE_BUDGET_GIB": str(ours.cache_budget_gib),
        "MLA_CACHE_SECONDS": str(ours.cache_seconds),
    }
    scaled = {"min_replicas": 1, "max_replicas": ours.replicas, "upscale_delay_s": 5.0}
    deployed = serve.deployment(
        max_ongoing_requests=line.at_once,
        max_queued_requests=line.waiting,
        autoscaling_config=scaled | {"target_ongoing_requests": line.enough},
        ray_actor_options={"num_cpus": 1, "num_gpus": ours.replica_gpus},
        graceful_shutdown_timeout_s=1.0,
        health_check_period_s=2.0,  # a replica that has gone is missed no longer
        logging_config=QUIET_REPLICAS,
    )(Replica)
    if options:
        deployed = deployed.options(**options)
    return serve.run(deployed.bind(told, line), name=name, route_prefix=None)
