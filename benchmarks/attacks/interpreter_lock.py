"""How long the server's own threads stand still while hostile checkpoints are read.

    python -m benchmarks.attacks.interpreter_lock

A thread ticks every millisecond; the longest pause between two ticks is what all other visitors
would wait. The quiet server's pause stands first: what this machine itself takes.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mla_engine.checkpoints import CheckpointError, build_demo
from tests.attacks import hostile
from ui.engine import real_layer
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
    """The longest pause of a ticking thread, in milliseconds, as the list's one entry."""
    longest, ended = [0.0], threading.Event()

    def tick() -> None:
        last = time.perf_counter()
        while not ended.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest[0], last = max(longest[0], 1000 * (now - last)), now

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield longest
    finally:
        ended.set()
        thread.join()


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
        with pauses() as longest:
            time.sleep(2)
        print(f"{'quiet':28} {longest[0]:8.1f} ms")
        for number, (name, change) in enumerate(HOSTILE.items()):
            place = hostile.copied(demo, Path(folder) / str(number), change)
            began = time.perf_counter()
            with pauses() as longest:
                said = told(real_layer.inputs, RealLayer(str(place), "", 0, TEXT))
            seconds = time.perf_counter() - began
            mark = "" if longest[0] < LIMIT_MS else f"  over {LIMIT_MS} ms"
            print(f"{name:28} {longest[0]:8.1f} ms{mark}  after {seconds:5.1f} s: {said:.100}")


if __name__ == "__main__":
    main()
