"""What an attack comes to: rows of one table, and the memory and disk that it took."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20


@dataclass(frozen=True)
class Row:
    """One thing that was measured; `holds` is None where nothing is asked of it."""

    attack: str
    what: str
    found: str
    limit: str = ""
    holds: bool | None = None

    def __str__(self) -> str:
        mark = {None: "", True: "holds", False: "BROKEN"}[self.holds]
        return f"{self.attack:12} {self.what:44} {self.found:>16} {self.limit:>16}  {mark}"


def none(attack: str, what: str, found: int) -> Row:
    """Something of which there must be none."""
    return Row(attack, what, str(found), "0", found == 0)


def mebibytes(attack: str, what: str, found: int, limit: int | None = None) -> Row:
    """An amount of memory or disk."""
    asked = "" if limit is None else f"{limit / MIB:,.0f} MiB"
    return Row(attack, what, f"{found / MIB:,.0f} MiB", asked, limit and found <= limit)


def disk_bytes(folder: Path) -> int:
    """What the files below a folder take of the disk."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


@contextmanager
def peak(measure: Callable[[], int], every_seconds: float = 0.5) -> Iterator[list[int]]:
    """The largest value that was seen meanwhile, as a list of one."""
    most, over = [measure()], threading.Event()

    def watch() -> None:
        while not over.wait(every_seconds):
            most[0] = max(most[0], measure())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        over.set()
        watching.join()
        most[0] = max(most[0], measure())
