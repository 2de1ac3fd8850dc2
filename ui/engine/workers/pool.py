"""The workers that all sessions share: few, started when needed, each visitor one job at a time.

Who waits is served in the order of arrival; whoever leaves is noticed within a moment.
"""

import atexit
import threading
from collections import deque
from collections.abc import Callable

from cachetools import TTLCache

from mla_engine.checkpoints import CheckpointError
from mla_engine.checkpoints.checkpoint import Progress
from ui.engine import job_owner
from ui.engine.workers.access import Place
from ui.engine.workers.limits import Limits
from ui.engine.workers.process import POLL_SECONDS, Job, LostError, Process
from ui.settings.server import server

MOST_WAITING = 64
MOST_LOST, LOST_SECONDS = 256, 60.0  # what ended a worker is not tried again at once
Check = Callable[[], None]


class Pool:
    """At most `most()` workers, each with one job of one visitor."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._moved = threading.Condition()
        self._line: deque[tuple[object, object]] = deque()  # visitors with the places they hold
        self._served: set[object] = set()  # visitors
        self._idle: list[Process] = []
        self._lost: TTLCache[Job, CheckpointError] = TTLCache(MOST_LOST, LOST_SECONDS)

    def call(self, job: Job, visitor: object, progress: Progress, check: Check) -> object:
        """Return the job's answer; `progress` and `check`, called often, may raise to stop.

        Raises:
            CheckpointError: too many wait, the job passed a limit, or the worker broke off.
            RefusedError: as the job.
        """
        with self._moved:
            told = self._lost.get(job)
        if told:
            raise CheckpointError(told.code, **told.values)
        try:
            try:
                return self._serve(job, visitor, progress, check)
            except LostError as error:
                if not error.gone:
                    raise
                return self._serve(job, visitor, progress, check)
        except LostError as error:
            if error.again:
                with self._moved:
                    self._lost[job] = error.told
            raise error.told from None

    def close(self) -> None:
        """End the workers that nobody uses."""
        with self._moved:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.kill()

    def _serve(self, job: Job, visitor: object, progress: Progress, check: Check) -> object:
        self._wait(visitor, check)
        worker = None
        try:
            worker = self._worker(job)
            return worker.run(job, progress, check)
        finally:
            if worker and worker.working:  # its visitor left: it has a moment to stop
                threading.Thread(target=self._free, args=(visitor, worker), daemon=True).start()
            else:
                self._free(visitor, worker)

    def _wait(self, visitor: object, check: Check) -> None:
        """Wait until the visitor has no other job and a worker is free."""
        place = (visitor, object())
        with self._moved:
            if len(self._line) >= MOST_WAITING:
                raise CheckpointError("job_line", most=MOST_WAITING)
            self._line.append(place)
            try:
                while not self._is_next(place):
                    self._moved.wait(POLL_SECONDS)
                    check()
                self._served.add(visitor)
            finally:
                self._line.remove(place)
                self._moved.notify_all()

    def _is_next(self, place: tuple[object, object]) -> bool:
        free = (one for one in self._line if one[0] not in self._served)
        return len(self._served) < self._most() and place is next(free, None)

    def _worker(self, job: Job) -> Process:
        """Return one that has the checkpoint open, or else another, or else a new one."""
        spare = None
        with self._moved:
            fitting = [one for one in self._idle if one.environment == job.environment]
            fitting.sort(key=lambda one: job.place in one.places)
            if fitting:
                self._idle.remove(fitting[-1])
                return fitting[-1]
            if len(self._idle) + len(self._served) > self._most():
                spare = self._idle.pop(0)
        if spare:
            spare.kill()
        return Process(dict(job.environment))

    def _free(self, visitor: object, worker: Process | None) -> None:
        """Let others come, once the worker has stopped."""
        if worker and worker.working:
            worker.settle()
        if worker and not worker.usable:
            worker.kill()
        with self._moved:
            self._served.discard(visitor)
            if worker and worker.usable:
                self._idle.append(worker)
            self._moved.notify_all()


POOL = Pool(lambda: server().share(server().workers))
atexit.register(POOL.close)


def _nothing(*_: int) -> None:
    """Do nothing, where nobody watches."""


def ask(
    name: str, place: Place, limits: Limits, progress: Progress = _nothing, **given: object
) -> object:
    """Return what a worker answers to the job of this name; a visitor who leaves ends it.

    Raises:
        CheckpointError: too many wait, the job passed a limit, or the worker broke off.
        RefusedError: as the job.
    """
    job = Job.of(name, place, limits, job_owner.browser(), **given)
    return POOL.call(job, job_owner.current(), progress, job_owner.stop_if_gone)
