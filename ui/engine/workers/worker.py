"""The process that works: one job after the other, until nobody asks any more.

Standard input brings jobs, and the request to stop one; standard output carries the answers, and
what libraries write there goes elsewhere. `python -m ui.engine.workers.worker` starts it.
"""

import os
import queue
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import torch
from huggingface_hub import constants

from kvcount.files.quota import visitor
from kvcount.refusals import RefusedError
from mla_engine.checkpoints.checkpoint import Progress
from ui import ROOT
from ui.engine.workers import messages
from ui.engine.workers.jobs import JOBS
from ui.engine.workers.limits import Limits, OwnLimits

IDLE_SECONDS = 600  # without a job, after which it ends
SIGN_SECONDS = 0.05  # between two signs of life
MOST_GROWTH_BYTES = 2**29  # a worker that holds more after a job is replaced
NEEDED = (  # modules that jobs import
    "kvcount.files.hub",
    "mla_engine.checkpoints.layer_inputs",
    "mla_engine.checkpoints.tokens",
)


class StoppedError(Exception):
    """The visitor left."""


class Worker:
    """Reads jobs from one stream and answers on another."""

    def __init__(self, jobs: BinaryIO, answers: BinaryIO) -> None:
        self._answers, self._limits = answers, OwnLimits()
        self._waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._stopped, self._told = 0, 0.0
        threading.Thread(target=self._listen, args=(jobs,), daemon=True).start()

    def run(self) -> None:
        """Work until nothing came for a while."""
        while True:
            try:
                asked = self._waiting.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                return
            answer, tensors = self._answer(asked)
            answer["grown"] = self._limits.has_grown(MOST_GROWTH_BYTES)
            try:
                messages.send(self._answers, answer, tensors)
            except messages.BrokenMessageError as error:
                messages.send(self._answers, {"failed": type(error).__name__, "grown": True})

    def _listen(self, jobs: BinaryIO) -> None:
        while message := messages.receive(jobs, 0):
            asked, _ = message
            if "stop" in asked:
                self._stopped = asked["stop"]
            else:
                self._waiting.put(asked)
        os._exit(0)  # the server is gone

    def _answer(self, asked: dict[str, Any]) -> tuple[dict[str, Any], list[torch.Tensor]]:
        tensors: list[torch.Tensor] = []
        try:
            self._limits.begin(Limits(**asked["limits"]))
            visitor.set(asked["browser"])
            given = messages.decoded(asked["given"], [])
            found = JOBS[asked["job"]](asked["where"], self._progress(asked["number"]), **given)
            return {"answer": messages.encoded(found, tensors)}, tensors
        except RefusedError as error:
            return {"refused": messages.encoded_refusal(error, _cleaner(asked["where"]))}, []
        except StoppedError:
            return {"stopped": True}, []
        except BaseException as error:  # a panic of a library is no Exception
            torch_has_none = isinstance(error, RuntimeError) and "memory" in str(error)
            no_memory = torch_has_none or isinstance(error, MemoryError)
            return {"failed": "memory" if no_memory else type(error).__name__}, []

    def _progress(self, number: int) -> Progress:
        def progress(done: int, total: int) -> None:
            if self._stopped == number:
                raise StoppedError
            if (now := time.monotonic()) - self._told >= SIGN_SECONDS or done == total:
                self._told = now
                messages.send(self._answers, {"progress": [done, total]})

        return progress


def _cleaner(where: dict[str, Any]) -> messages.Clean:
    """Return what takes the folders of this machine out of a text; of a path its end is left."""
    roots = {str(ROOT), str(Path.home()), constants.HF_HOME, constants.HF_HUB_CACHE}
    roots |= {constants.HF_ASSETS_CACHE, where["root"]}

    def clean(text: str) -> str:
        for root in sorted(filter(None, roots), key=len, reverse=True):
            text = text.replace(root + os.sep, "…/") if root != os.sep else text
        return text

    return clean


def main() -> None:
    """Work on the standard streams, out of the reach of what libraries print."""
    torch.set_num_threads(1)
    for name in NEEDED:  # before the memory is measured
        import_module(name)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    jobs = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    Worker(jobs, answers).run()
    os._exit(0)


if __name__ == "__main__":
    main()
