"""A clock that notices when it stands still; as a process, until its input ends, then it tells.

It imports nothing that takes time.
"""

import sys
import threading
import time


def tick(longest: list[float], ended: threading.Event) -> None:
    """Keep the longest pause between two ticks of a millisecond, in milliseconds, in `longest`."""
    last = time.perf_counter()
    while not ended.is_set():
        time.sleep(0.001)
        now = time.perf_counter()
        longest[0], last = max(longest[0], 1000 * (now - last)), now


if __name__ == "__main__":
    longest, ended = [0.0], threading.Event()
    clock = threading.Thread(target=tick, args=(longest, ended))
    clock.start()
    sys.stdin.read()
    ended.set()
    clock.join()
    print(longest[0])
