"""A clock that notices when it stands still; it imports nothing that takes time."""

import threading
import time


def tick(longest: list[float], ended: threading.Event) -> None:
    """Keep the longest pause between two ticks of a millisecond, in milliseconds, in `longest`."""
    last = time.perf_counter()
    while not ended.is_set():
        time.sleep(0.001)
        now = time.perf_counter()
        longest[0], last = max(longest[0], 1000 * (now - last)), now
