"""One worker process, seen from the server."""

import json
import logging
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

import torch

from mla_engine import budget
from mla_engine.checkpoints import CheckpointError
from mla_engine.refusals import RefusedError
from ui import ROOT
from ui.engine.apart import plain, wire
from ui.engine.apart.access import Place
from ui.engine.apart.limits import GIB, Limits

POLL_SECONDS = 0.05
GRACE_SECONDS = 2.0  # for a worker to stop by itself
LONGEST_KIND = 40
COMMAND = (sys.executable, "-m", "ui.engine.apart.worker")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Job:
    """One of `jobs.JOBS` with its arguments: on whose files, within which limits, and for whom."""

    name: str
    place: Place
    given: str  # JSON
    limits: Limits
    environment: tuple[tuple[str, str], ...]  # of the worker
    asker: str = field(default="", compare=False)

    @classmethod
    def of(cls, name: str, place: Place, limits: Limits, asker: str = "", **given: object) -> "Job":
        """The job of this name, by a worker that has what the place allows."""
        environment = tuple(sorted(place.environment.items()))
        return cls(name, place, json.dumps(plain.encoded(given, [])), limits, environment, asker)

    @property
    def name_read(self) -> str:
        """What is read, as the visitor wrote it."""
        return self.place.name

    @property
    def asked(self) -> dict[str, Any]:
        """What the worker is sent."""
        asked = {"job": self.name, "where": self.place.where, "given": json.loads(self.given)}
        return asked | {"limits": asdict(self.limits), "asker": self.asker}

    def took_long(self) -> CheckpointError:
        """The sentence on computing time that was passed."""
        return CheckpointError("job_long", name=self.name_read, seconds=self.limits.cpu_seconds)

    def was_silent(self) -> CheckpointError:
        """The sentence on a job that made no progress."""
        seconds = self.limits.silent_seconds
        return CheckpointError("job_silent", name=self.name_read, seconds=seconds)

    def took_memory(self) -> CheckpointError:
        """The sentence on memory that was passed."""
        gib = self.limits.memory_bytes / GIB
        return CheckpointError("job_memory", name=self.name_read, gib=gib)

    def broke(self, kind: str) -> CheckpointError:
        """The sentence on a worker that broke off, or a library in it; the log says it too."""
        log = logging.getLogger(__name__)
        log.warning("the job %s of %.200r ended: %.40r", self.name, self.name_read, kind)
        return CheckpointError("job_broke", name=self.name_read, kind=kind[:LONGEST_KIND])


class LostError(Exception):
    """The worker is of no more use: `told` is what its visitor reads, and again if he asks soon."""

    def __init__(self, told: CheckpointError, *, again: bool = True) -> None:
        super().__init__(str(told))
        self.told, self.again = told, again


class GoneError(LostError):
    """The worker ended of itself, as one does after a while without a job: another may do it."""


class Process:
    """A worker that does one job at a time.

    `working` says that a job has no answer yet, `usable` that another may follow, and `places` what
    it may have open.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = tuple(sorted(environment.items()))
        self.places: set[Place] = set()
        self.working, self.usable = False, True
        self._number = 0
        self._process = subprocess.Popen(
            COMMAND,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._messages: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def run(self, job: Job, progress: Progress, check: Callable[[], None]) -> object:
        """The job's answer; `progress` and `check`, which is called often, may raise to stop.

        Raises:
            RefusedError: as the job.
            LostError, GoneError: the worker has ended, or must.
        """
        self._ask(job)
        heard = monotonic()
        while True:
            check()
            try:
                found = self._messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if monotonic() - heard > job.limits.silent_seconds:
                    raise self._lost(job.was_silent(), again=False) from None
                continue
            heard = monotonic()
            if not isinstance(found, tuple):
                raise self._ended(job, found)
            message, tensors = found
            if "progress" not in message:
                return self._answer(job, message, tensors)
            progress(*self._numbers(job, message["progress"]))

    def settle(self) -> None:
        """Stop the present job; a worker that does not within GRACE_SECONDS is not usable."""
        until = monotonic() + GRACE_SECONDS
        self.usable = False
        try:
            wire.send(self._process.stdin, {"stop": self._number})
            found = ({"progress": ()}, [])
            while isinstance(found, tuple) and "progress" in found[0]:
                found = self._messages.get(timeout=max(until - monotonic(), 0))
        except (OSError, queue.Empty):
            return
        self.usable = isinstance(found, tuple) and not found[0].get("grown")

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()

    def _listen(self) -> None:
        """Bring what the worker says into the line of messages, at last None or an error."""
        with self._process.stdout as answers:
            try:
                while message := wire.receive(answers, budget.limit_bytes()):
                    self._messages.put(message)
                self._messages.put(None)
            except (
                wire.BrokenMessageError,
                OSError,
                ValueError,
                RuntimeError,
                MemoryError,
            ) as error:
                self._messages.put(error)

    def _ask(self, job: Job) -> None:
        self._number += 1
        self.places.add(job.place)
        self.working = True
        try:
            wire.send(self._process.stdin, job.asked | {"number": self._number})
        except OSError:
            self.working = self.usable = False
            raise GoneError(job.broke("gone")) from None

    def _answer(self, job: Job, message: dict[str, Any], tensors: list[torch.Tensor]) -> object:
        self.working, self.usable = False, not message.get("grown")
        try:
            if "answer" in message:
                return plain.decoded(message["answer"], tensors)
            told = plain.decoded_refusal(message["refused"]) if "refused" in message else None
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self._lost(job.broke(type(error).__name__)) from error
        if isinstance(told, RefusedError):
            raise told
        failed = str(message.get("failed"))
        raise job.took_memory() if failed == "memory" else job.broke(failed)

    def _numbers(self, job: Job, sent: Any) -> tuple[int, int]:
        if not isinstance(sent, list) or [type(one) for one in sent] != [int, int]:
            raise self._lost(job.broke("progress"))
        return sent[0], sent[1]

    def _ended(self, job: Job, error: Exception | None) -> Exception:
        """Why the worker says no more."""
        if error is not None:
            return self._lost(job.broke(type(error).__name__))
        status = self._process.wait()
        if status == 0:
            self.working = self.usable = False
            return GoneError(job.broke("gone"))
        if -status == getattr(signal, "SIGXCPU", None):
            return self._lost(job.took_long())
        return self._lost(job.broke(signal.Signals(-status).name if status < 0 else str(status)))

    def _lost(self, told: CheckpointError, *, again: bool = True) -> LostError:
        self.working = self.usable = False
        return LostError(told, again=again)
