"""Bound the disk that fetched files take, and what is fetched in an hour, before a byte comes.

Several processes share a folder, its quota and its count of this hour. Whoever reads or writes
files there names them with their sizes in a file of its own below `.uses`, locked as long as its
process lives. All other files may go, those that were used longest ago first.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from huggingface_hub.utils import WeakFileLock

from kvcount.files.errors import CheckpointError, unreadable
from kvcount.refusals import Phrase

USES, LOCK, PARTIAL, FETCHED = ".uses", ".lock", ".incomplete", "fetched"
BLOCK_BYTES = 2**12  # that the smallest file takes
LEAVE_FREE_BYTES = 2**28  # for all else that writes to this disk
TRY_SECONDS = 0.01
GIB = 2**30
HOUR_SECONDS = 3600
OWN_SHARE = 4  # one visitor may have a fourth of what all may
KEPT = Phrase("kept_files")
visitor: ContextVar[str] = ContextVar("visitor", default="")
"""For whom this thread fetches."""


class FreeDisk:
    """The disk around a folder that has no quota: only its free bytes count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reserve(self, coming_bytes: int) -> None:
        """Raise CheckpointError if the disk has no room for so many bytes."""
        with unreadable(KEPT):
            there = next(path for path in (self.folder, *self.folder.parents) if path.exists())
            free = max(shutil.disk_usage(there).free - LEAVE_FREE_BYTES, 0)
        if coming_bytes > free:
            raise CheckpointError("disk_full", needed=coming_bytes / GIB, free=free / GIB)


class Use(FreeDisk):
    """The use of files in a shared folder, which the other processes read of."""

    def __init__(
        self,
        folder: Path,
        sizes: Mapping[Path, int],
        quota_bytes: int | None,
        hourly_bytes: int | None,
    ) -> None:
        super().__init__(folder)
        self.quota_bytes, self.hourly_bytes = quota_bytes, hourly_bytes
        self.sizes = {str(file.relative_to(folder)): size for file, size in sizes.items()}
        self.has_reserved = False
        self.place = folder / USES / f"{uuid4().hex}.json"

    def reserve(self, coming_bytes: int) -> None:
        """Remove what was used longest ago until so many bytes fit, and keep that room free.

        Raises:
            CheckpointError: the files are beyond the quota, the free disk, or what may be
                fetched in an hour; others use too much of the quota now.
        """
        if self.quota_bytes is not None:
            if (needed_bytes := sum(self.sizes.values())) > self.quota_bytes:
                needed, quota = needed_bytes / GIB, self.quota_bytes / GIB
                raise CheckpointError("over_quota", needed=needed, quota=quota)
            with unreadable(KEPT), _locked(self.folder):
                self._spend(coming_bytes)
                _evict(self.folder, self.quota_bytes, coming_bytes)
                self.has_reserved = True
                self.save()
        super().reserve(coming_bytes)

    def save(self) -> None:
        """Tell the other processes, in one step."""
        said = {"sizes": self.sizes, "has_reserved": self.has_reserved}
        with unreadable(KEPT):
            _replace(self.place, said)

    def end(self) -> None:
        """Let the files go; what has not come is not counted as fetched."""
        coming_bytes = _coming(self.folder, self.sizes)
        if self.has_reserved and coming_bytes:
            with suppress(OSError), _locked(self.folder):
                self._spend(-coming_bytes)
        self.place.unlink(missing_ok=True)

    def _spend(self, n_bytes: int) -> None:
        if self.hourly_bytes is not None:
            spend(self.folder / USES / FETCHED, n_bytes, self.hourly_bytes)


@contextmanager
def using(
    folder: Path,
    sizes: Mapping[Path, int],
    quota_bytes: int | None,
    hourly_bytes: int | None = None,
) -> Iterator[Use]:
    """Let nobody remove these files below `folder`, which have or get these sizes, in the block."""
    use = Use(folder, sizes, quota_bytes, hourly_bytes)
    lock = use.place.with_suffix(LOCK)
    with ExitStack() as stack:
        with unreadable(KEPT), _locked(folder):
            use.place.parent.mkdir(exist_ok=True)
            stack.callback(lock.unlink, missing_ok=True)
            stack.enter_context(WeakFileLock(lock))
            stack.callback(use.end)
            use.save()
            for file in use.sizes:
                with suppress(FileNotFoundError):
                    os.utime(folder / file)
        yield use


def spend(
    file: Path, n_bytes: int, hourly_bytes: int, clock: Callable[[], float] = time.time
) -> None:
    """Count bytes that are about to come, or, negative, that did not; nobody else may meanwhile.

    Raises:
        CheckpointError: they are more than is left of this hour, and were not counted.
    """
    hour = int(clock() // HOUR_SECONDS)
    had, who = _fetched(file, hour), visitor.get()
    own = had.get(who, 0) + n_bytes
    all_visitors = sum(had.values()) + n_bytes
    coming, each = n_bytes / GIB, hourly_bytes // OWN_SHARE
    if n_bytes > 0 and own > each:
        raise CheckpointError("fetched_own", needed=coming, most=each / GIB)
    if n_bytes > 0 and all_visitors > hourly_bytes:
        raise CheckpointError("fetched_all", needed=coming, most=hourly_bytes / GIB)
    _replace(file, {"hour": hour, "had": had | {who: max(0, own)}})


def _fetched(file: Path, hour: int) -> dict[str, int]:
    """Return the bytes of this hour by visitor; none of a file that is missing or damaged."""
    try:
        said = json.loads(file.read_text("utf-8"))
        return dict(said["had"]) if said["hour"] == hour else {}
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return {}


def _replace(file: Path, said: object) -> None:
    """Write a file of JSON in one step."""
    partial = file.with_suffix(".new")
    partial.write_text(json.dumps(said), "utf-8")
    partial.replace(file)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process counts or removes files there; all are quick."""
    folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(folder / LOCK):
        yield


@dataclass(frozen=True, order=True)
class _File:
    """A file that may be removed; the one used longest ago is the least."""

    used: int
    path: Path
    n_bytes: int


def _evict(folder: Path, quota_bytes: int, coming_bytes: int) -> None:
    in_use, reserved = _in_use(folder)
    files = list(_files(folder))
    excess = sum(file.n_bytes for file in files) + reserved + coming_bytes - quota_bytes
    # a part of a file is in use with the whole
    whole = {file: file.path.with_name(file.path.name.removesuffix(PARTIAL)) for file in files}
    free = sorted(file for file in files if whole[file] not in in_use)
    if excess > sum(file.n_bytes for file in free):
        raise CheckpointError("disk_busy", needed=coming_bytes / GIB, quota=quota_bytes / GIB)
    for file in free:
        if excess <= 0:
            break
        file.path.unlink(missing_ok=True)
        excess -= file.n_bytes
        _remove_empty(file.path.parent, in_use | {folder})


def _files(folder: Path) -> Iterator[_File]:
    """Yield all files below the folder, except what the processes tell each other."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != USES]
        for name in names:
            if name != LOCK:
                path = Path(place, name)
                with suppress(FileNotFoundError):  # its last byte came, and it was renamed
                    found = path.lstat()
                    blocks = -(-found.st_size // BLOCK_BYTES)
                    yield _File(found.st_mtime_ns, path, blocks * BLOCK_BYTES)


def _in_use(folder: Path) -> tuple[set[Path], int]:
    """Return the files that living processes use, the folders around them, and bytes to come."""
    found, reserved = set(), 0
    for place in (folder / USES).glob("*.json"):
        with suppress(FileNotFoundError):
            if _is_alive(place):
                said = json.loads(place.read_text("utf-8"))
                reserved += _coming(folder, said["sizes"]) if said["has_reserved"] else 0
                for path in (folder / file for file in said["sizes"]):
                    found.update((path, *path.parents))
    return found, reserved


def _coming(folder: Path, sizes: Mapping[str, int]) -> int:
    """Return how many bytes of these files are not on the disk yet."""
    return sum(max(size - _held(folder / file), 0) for file, size in sizes.items())


def _held(file: Path) -> int:
    for path in (file, file.with_name(f"{file.name}{PARTIAL}")):
        with suppress(FileNotFoundError):
            return path.stat().st_size
    return 0


def _is_alive(place: Path) -> bool:
    """Return whether the process of a use still runs; tidy up after one that was killed."""
    lock = place.with_suffix(LOCK)
    try:
        with WeakFileLock(lock, timeout=TRY_SECONDS):
            place.unlink(missing_ok=True)
    except TimeoutError:
        return True
    lock.unlink(missing_ok=True)
    return False


def _remove_empty(place: Path, in_use: set[Path]) -> None:
    """Remove folders that hold nothing more, from `place` upwards."""
    while place not in in_use and {path.name for path in place.iterdir()} <= {LOCK}:
        (place / LOCK).unlink(missing_ok=True)
        place.rmdir()
        place = place.parent
