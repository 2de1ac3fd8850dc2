"""How long the server's own threads stand still while hostile checkpoints are read.

    python -m benchmarks.attacks.interpreter_lock

A thread ticks every millisecond; the longest pause between two ticks is what all other visitors
would wait. So does a process that has nothing to do with it: what it waits, the machine takes. The
quiet server's pauses stand first.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.attacks.ticks import tick
from mla_engine.checkpoints import CheckpointError, build_demo
from tests.attacks import hostile
from ui.engine import queue, real_layer
from ui.engine.real_layer import RealLayer

TEXT, LIMIT_MS = "a cat sat on a mat.", 50
HOSTILE = {
    "19 growing rules": hostile.growing(19),
    "30 growing rules": hostile.growing(30),
    "rules that end the process": hostile.growing(4, by=100_000),
    "malformed charsmap": hostile.bad_charsmap,
    "config of 10 MB": hostile.config(**{f"key {n}": 0 for n in range(600_000)}),
    "index of 30 MB": hostile.index_of(lambda: f"[{'{},' * 10_000_000}0]"),
    "deep header": hostile.header_of(b'{"a":' + b"[" * 3_000_000),
}


@contextmanager
def pauses() -> Iterator[list[float]]:
    """The longest pauses in milliseconds: of a thread here, and of a process of its own."""
    longest, ended = [0.0], threading.Event()
    alone = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.attacks.ticks"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    thread = threading.Thread(target=tick, args=(longest, ended))
    thread.start()
    try:
        yield longest
    finally:
        ended.set()
        thread.join()
        longest.append(float(alone.communicate()[0]))


def told(ask: Callable[[RealLayer], object], loaded: RealLayer) -> str:
    """What the visitor reads."""
    try:
        ask(loaded)
    except CheckpointError as error:
        return str(error)
    return "read"


def main() -> None:
    """Print a row for each hostile checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLA_MODEL_FOLDERS"] = folder
        demo = str(build_demo(Path(folder) / "demo"))
        real_layer.inputs(RealLayer(demo, "", 0, TEXT))
        queue.warm_up()  # as the server does at its first page
        with pauses() as longest:
            time.sleep(2)
        print(f"{'':28} {'thread':>8} {'process':>8}")
        print(f"{'quiet':28} {longest[0]:8.1f} {longest[1]:8.1f} ms")
        for number, (name, change) in enumerate(HOSTILE.items()):
            place = hostile.copied(demo, Path(folder) / str(number), change)
            began = time.perf_counter()
            with pauses() as longest:
                said = told(real_layer.inputs, RealLayer(str(place), "", 0, TEXT))
            seconds = time.perf_counter() - began
            mark = f"  over {LIMIT_MS} ms" if longest[0] >= LIMIT_MS else ""
            print(f"{name:28} {longest[0]:8.1f} {longest[1]:8.1f} ms{mark}", end="")
            print(f"  after {seconds:5.1f} s: {said:.100}")


if __name__ == "__main__":
    main()
