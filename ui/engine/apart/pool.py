"""The workers that all sessions share: few, started when needed, each visitor one job at a time.

Who waits is served in the order of arrival; whoever leaves is noticed within a moment.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache

from mla_engine.checkpoints import CheckpointError
from ui.engine.apart.process import POLL_SECONDS, GoneError, Job, LostError, Process, Progress

MOST_WAITING = 64
LOST_KEPT, LOST_SECONDS = 256, 60.0  # what ended a worker is not tried again at once
Check = Callable[[], None]


@dataclass(eq=False)
class _Ticket:
    """A place in the line."""

    visitor: object


class Pool:
    """At most `most()` workers, each with one job of one visitor."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._moved = threading.Condition()
        self._line: deque[_Ticket] = deque()
        self._served: set[object] = set()  # visitors
        self._idle: list[Process] = []
        self._lost: TTLCache[Job, CheckpointError] = TTLCache(LOST_KEPT, LOST_SECONDS)

    def call(self, job: Job, visitor: object, progress: Progress, check: Check) -> object:
        """The job's answer; `progress` and `check`, which is called often, may raise to stop.

        Raises:
            CheckpointError: too many wait, the job passed a limit, or the worker broke off.
            RefusedError: as the job.
        """
        self._refuse_again(job)
        try:
            try:
                return self._serve(job, visitor, progress, check)
            except GoneError:
                return self._serve(job, visitor, progress, check)
        except LostError as error:
            self._remember(job, error)
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
            self._leave(visitor, worker)

    def _refuse_again(self, job: Job) -> None:
        with self._moved:
            told = self._lost.get(job)
        if told:
            raise CheckpointError(told.code, **told.values)

    def _remember(self, job: Job, error: LostError) -> None:
        if error.again:
            with self._moved:
                self._lost[job] = error.told

    def _wait(self, visitor: object, check: Check) -> None:
        """Until the visitor has no other job and a worker is free."""
        ticket = _Ticket(visitor)
        with self._moved:
            if len(self._line) >= MOST_WAITING:
                raise CheckpointError("job_line", most=MOST_WAITING)
            self._line.append(ticket)
            try:
                while not self._is_next(ticket):
                    self._moved.wait(POLL_SECONDS)
                    check()
                self._served.add(visitor)
            finally:
                self._line.remove(ticket)
                self._moved.notify_all()

    def _is_next(self, ticket: _Ticket) -> bool:
        free = (one for one in self._line if one.visitor not in self._served)
        return len(self._served) < self._most() and ticket is next(free, None)

    def _worker(self, job: Job) -> Process:
        """One that has the checkpoint open, or else another, or else a new one."""
        with self._moved:
            fitting = [one for one in self._idle if one.environment == job.environment]
            fitting.sort(key=lambda one: job.place in one.places)
            if fitting:
                self._idle.remove(fitting[-1])
                return fitting[-1]
            spare = (
                self._idle.pop(0) if len(self._idle) + len(self._served) > self._most() else None
            )
        if spare:
            spare.kill()
        return Process(dict(job.environment))

    def _leave(self, visitor: object, worker: Process | None) -> None:
        """Others may come; a worker whose visitor left has a moment to stop first."""
        if worker and worker.working:
            settling = threading.Thread(target=self._settle, args=(visitor, worker), daemon=True)
            settling.start()
        else:
            self._free(visitor, worker)

    def _settle(self, visitor: object, worker: Process) -> None:
        worker.settle()
        self._free(visitor, worker)

    def _free(self, visitor: object, worker: Process | None) -> None:
        if worker and not worker.usable:
            worker.kill()
        with self._moved:
            self._served.discard(visitor)
            if worker and worker.usable:
                self._idle.append(worker)
            self._moved.notify_all()
