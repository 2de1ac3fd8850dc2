"""One worker process, seen from the server."""

import json
import logging
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

import torch

from kvcount.refusals import RefusedError
from mla_engine import budget
from mla_engine.checkpoints import CheckpointError
from mla_engine.checkpoints.checkpoint import Progress
from ui import ROOT
from ui.engine.workers import messages
from ui.engine.workers.access import Place
from ui.engine.workers.limits import GIB, Limits

POLL_SECONDS = 0.05
GRACE_SECONDS = 2.0  # for a worker to stop by itself
LONGEST_KIND = 40
COMMAND = (sys.executable, "-m", "ui.engine.workers.worker")


@dataclass(frozen=True)
class Job:
    """One of `jobs.JOBS` with its arguments: on whose files, within which limits, and for whom."""

    name: str
    place: Place
    given: str  # JSON
    limits: Limits
    environment: tuple[tuple[str, str], ...]  # of the worker
    browser: str = field(compare=False)  # for which downloads are counted

    @classmethod
    def of(cls, name: str, place: Place, limits: Limits, browser: str, **given: object) -> "Job":
        """Return the job of this name, by a worker that has what the place allows."""
        environment = tuple(sorted(place.environment.items()))
        text = json.dumps(messages.encoded(given, []))
        return cls(name, place, text, limits, environment, browser)

    @property
    def asked(self) -> dict[str, Any]:
        """The message that the worker is sent."""
        asked = {"job": self.name, "where": self.place.where, "given": json.loads(self.given)}
        return asked | {"limits": asdict(self.limits), "browser": self.browser}

    def failure_of(self, code: str, **values: object) -> CheckpointError:
        """Return a sentence on what was read, by the name that the visitor wrote."""
        return CheckpointError(code, name=self.place.name, **values)

    def broke(self, kind: str) -> CheckpointError:
        """Log that a worker broke off, or a library in it, and return the sentence on it."""
        log = logging.getLogger(__name__)
        log.warning("the job %s of %.200r ended: %.40r", self.name, self.place.name, kind)
        return self.failure_of("job_broke", kind=kind[:LONGEST_KIND])


class LostError(Exception):
    """The worker is of no more use: `told` is what its visitor reads, and again if he asks soon.

    `gone` says that it ended by itself, as one does after a while without a job.
    """

    def __init__(self, told: CheckpointError, *, again: bool = True, gone: bool = False) -> None:
        super().__init__(str(told))
        self.told, self.again, self.gone = told, again, gone


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
            start_new_session=True,
        )
        self._heard: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def run(self, job: Job, progress: Progress, check: Callable[[], None]) -> object:
        """Return the job's answer; `progress` and `check`, called often, may raise to stop.

        Raises:
            RefusedError: as the job.
            LostError: the worker has ended, or must.
        """
        self._number += 1
        self.places.add(job.place)
        self.working, self.usable = True, False
        try:
            messages.send(self._process.stdin, job.asked | {"number": self._number})
        except OSError:
            raise self._lost(job.broke("gone"), gone=True) from None
        since = monotonic()
        while True:
            check()
            try:
                found = self._heard.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if monotonic() - since > job.limits.silent_seconds:
                    told = job.failure_of("job_silent", seconds=job.limits.silent_seconds)
                    raise self._lost(told, again=False) from None
                continue
            since = monotonic()
            if not isinstance(found, tuple):
                raise self._ended(job, found)
            message, tensors = found
            if "progress" not in message:
                return self._answer(job, message, tensors)
            sent = message["progress"]
            if not isinstance(sent, list) or [type(one) for one in sent] != [int, int]:
                raise self._lost(job.broke("progress"))
            progress(*sent)

    def settle(self) -> None:
        """Stop the present job; a worker that does not within GRACE_SECONDS is not usable."""
        until = monotonic() + GRACE_SECONDS
        with suppress(OSError, queue.Empty):
            messages.send(self._process.stdin, {"stop": self._number})
            found = ({"progress": ()}, [])
            while isinstance(found, tuple) and "progress" in found[0]:
                found = self._heard.get(timeout=max(until - monotonic(), 0))
            self.usable = isinstance(found, tuple) and not found[0].get("grown")

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):  # of what it has not read
            self._process.stdin.close()

    def _listen(self) -> None:
        """Bring what the worker says into the queue, at last None or an error."""
        with self._process.stdout as answers:
            try:
                while message := messages.receive(answers, budget.limit_bytes()):
                    self._heard.put(message)
                self._heard.put(None)
            except Exception as error:  # its kind is told
                self._heard.put(error)

    def _answer(self, job: Job, message: dict[str, Any], tensors: list[torch.Tensor]) -> object:
        self.working, self.usable = False, not message.get("grown")
        try:
            if "answer" in message:
                return messages.decoded(message["answer"], tensors)
            told = messages.decoded_refusal(message["refused"]) if "refused" in message else None
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self._lost(job.broke(type(error).__name__)) from error
        if isinstance(told, RefusedError):
            raise told
        if message.get("failed") == "memory":
            raise job.failure_of("job_memory", gib=job.limits.memory_bytes / GIB)
        raise job.broke(str(message.get("failed")))

    def _ended(self, job: Job, error: Exception | None) -> LostError:
        """Return why the worker says no more."""
        if error is not None:
            return self._lost(job.broke(type(error).__name__))
        status = self._process.wait()
        if status == 0:
            return self._lost(job.broke("gone"), gone=True)
        if -status == getattr(signal, "SIGXCPU", None):
            return self._lost(job.failure_of("job_long", seconds=job.limits.cpu_seconds))
        return self._lost(job.broke(signal.Signals(-status).name if status < 0 else str(status)))

    def _lost(self, told: CheckpointError, *, again: bool = True, gone: bool = False) -> LostError:
        self.working = self.usable = False
        return LostError(told, again=again, gone=gone)
