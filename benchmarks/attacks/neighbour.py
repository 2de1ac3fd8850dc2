"""What a second visitor waits while somebody attacks, against the quiet server of the same run.

The visitor asks from a process of its own, the same way all the time: for the health, then a page.
"""

import statistics
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from secrets import token_hex

from benchmarks.attacks import harm
from benchmarks.attacks.place import Place, place
from benchmarks.attacks.rows import MIB, Row, mebibytes, peak
from tests.attacks.client import Session, StuckError

MOST_HEALTH, MOST_PAGE = 1.3, 2.0  # times the quiet median
LEAST, QUIET = 10, 30  # measurements during an attack, and before all
PAGE, TEXT = "kv_cache", "text=" + "a" * 60
LEFT_AFTER_SECONDS = 1.0
UPLOADS = 150


def open_harm(name: str) -> Callable[[Place], None]:
    """A visitor who opens one of the repositories that mean harm."""

    def attack(where: Place) -> None:
        _open(where, "real_models", f"source=harm/{name}&{TEXT}")

    return attack


def compression(where: Place) -> None:
    """Visitors who ask for the largest compression, and leave."""
    for seed in range(4):
        with Session(where.app.url) as visitor:
            visitor.open("compression", f"preset=deepseek-v3&cmp_heads=128&seed={seed}", wait=False)
            time.sleep(LEFT_AFTER_SECONDS)


def decode(where: Place) -> None:
    """A visitor who asks for three large layers."""
    for seed in range(3):
        _open(where, "decode", f"preset=deepseek-v3&dec_heads=48&seed={seed}")


def upload(where: Place) -> None:
    """Files to a page that asks for none."""
    cookie = where.app.get("/_stcore/health")[1].get("Set-Cookie", "").partition(";")[0]
    headers = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2]}
    headers["Content-Type"] = "multipart/form-data; boundary=x"
    part = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    body = part + bytes(MIB - 1000) + b"\r\n--x--\r\n"
    with Session(where.app.url) as visitor:
        session = visitor.open("notation").session_id
        for _ in range(UPLOADS):
            address = f"{where.app.url}/_stcore/upload_file/{session}/{token_hex(8)}"
            asked = urllib.request.Request(address, body, headers, method="PUT")
            with suppress(OSError):  # refused
                urllib.request.urlopen(asked).close()


ATTACKS = {
    "tokenizer": open_harm("tokenizer"),
    "json": open_harm("json"),
    "download": open_harm("large"),
    "compression": compression,
    "decode": decode,
    "upload": upload,
}


def measure(attack: str = "", patience: float = 300) -> Iterator[Row]:
    """The rows of one attack, or of all."""
    for name in [attack] if attack else ATTACKS:
        with place() as where:
            harm.plant(where.folder / "hub", where.folder / "models/demo")
            yield from _beside(where, name, patience)


def _beside(where: Place, name: str, patience: float) -> Iterator[Row]:
    attacking = threading.Thread(target=ATTACKS[name], args=(where,), daemon=True)
    with ProcessPoolExecutor(1, get_context("spawn")) as visitor:
        ask = partial(_ask, visitor, where.app.url, patience)
        ask()
        quiet = [ask() for _ in range(QUIET)]
        disk, waits = where.kept_bytes, []
        with peak(where.app.resident_bytes) as memory, peak(lambda: where.kept_bytes) as most_disk:
            attacking.start()
            while attacking.is_alive() or len(waits) < LEAST:
                waits.append(ask())
    yield _compare(name, "health", MOST_HEALTH, [h for h, _ in quiet], [h for h, _ in waits])
    yield _compare(name, "page", MOST_PAGE, [p for _, p in quiet], [p for _, p in waits])
    yield mebibytes(name, "peak of the memory", memory[0])
    yield mebibytes(name, "disk that it took at most", most_disk[0] - disk)


def _compare(name: str, what: str, most: float, quiet: list[float], waits: list[float]) -> Row:
    median, usual = statistics.median(quiet), statistics.median(waits)
    label = f"{what}, ms: median {usual:.1f}, quiet {median:.1f} to {max(quiet):.1f}"
    limit, longest = most * median, max(waits)
    return Row(name, label, f"longest {longest:.1f}", f"{limit:.1f}", longest <= limit)


def _ask(visitor: ProcessPoolExecutor, url: str, patience: float) -> tuple[float, float]:
    """Milliseconds to the health, and to a page."""
    return tuple(visitor.submit(ask, url, patience).result() for ask in (_health, _page))


def _health(url: str, patience: float) -> float:
    began = time.perf_counter()
    urllib.request.urlopen(f"{url}/_stcore/health", timeout=patience).close()
    return 1000 * (time.perf_counter() - began)


def _page(url: str, patience: float) -> float:
    began = time.perf_counter()
    with Session(url, patience=patience) as visitor:
        visitor.open(PAGE)
        return 1000 * (time.perf_counter() - began)


def _open(where: Place, page: str, query: str) -> None:
    with suppress(StuckError), Session(where.app.url) as visitor:
        visitor.open(page, query)
