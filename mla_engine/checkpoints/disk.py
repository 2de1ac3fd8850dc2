"""The disk that fetched files take: room is made before the first byte comes.

Several processes share a folder and its quota. Who reads or writes files there says so in a file
of its own below `.uses`, locked as long as its process lives: it names the files and how many bytes
are still to come. All other files may go, those that were not used for the longest time first.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from huggingface_hub.utils import WeakFileLock

from mla_engine.checkpoints.errors import CheckpointError, unreadable, usable
from mla_engine.checkpoints.traffic import spend
from mla_engine.refusals import Phrase

USES, LOCK, PARTIAL, FETCHED = ".uses", ".lock", ".incomplete", "fetched"
BLOCK_BYTES = 2**12  # that the smallest file takes
LEAVE_FREE_BYTES = 2**28  # for all else that writes to this disk
TRY_SECONDS = 0.01
GIB = 2**30
KEPT = Phrase("kept_files")
_own: set[str] = set()  # names of this process's uses


def make_room(folder: str | Path, quota_bytes: int, coming_bytes: int = 0) -> None:
    """Remove the files below `folder` that were used longest ago until more bytes fit the quota.

    Raises:
        CheckpointError: they are more than the quota, or others use too much of it now.
    """
    _check_quota(coming_bytes, quota_bytes)
    with usable(folder), _alone(Path(folder)):
        _evict(Path(folder), quota_bytes, coming_bytes)


class Use:
    """What a reader says of the bytes that it fetches: here only the free disk counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reserve(self, coming_bytes: int) -> None:
        """Raise CheckpointError if the disk has no room for so many bytes."""
        with unreadable(KEPT):
            there = next(path for path in (self.folder, *self.folder.parents) if path.exists())
            free = max(shutil.disk_usage(there).free - LEAVE_FREE_BYTES, 0)
        if coming_bytes > free:
            raise CheckpointError("disk_full", needed=coming_bytes / GIB, free=free / GIB)

    def arrived(self, n_bytes: int) -> None:
        """So many bytes lie on the disk now."""


class SharedUse(Use):
    """A use of a folder that has a quota; the other processes read of it."""

    def __init__(
        self,
        folder: Path,
        files: Iterable[Path],
        quota_bytes: int | None,
        hourly_bytes: int | None = None,
    ) -> None:
        super().__init__(folder)
        self.quota_bytes, self.hourly_bytes, self.coming_bytes = quota_bytes, hourly_bytes, 0
        self.files = [str(file.relative_to(folder)) for file in files]
        self.place = folder / USES / f"{uuid4().hex}.json"

    def reserve(self, coming_bytes: int) -> None:
        """Make room for so many bytes, which nobody else counts on from now on.

        Raises:
            CheckpointError: the files alone are beyond the quota, the free disk, or what may be
                fetched in an hour.
        """
        if self.quota_bytes is not None:
            total_bytes = coming_bytes + sum(map(self._held, self.files))
            _check_quota(total_bytes, self.quota_bytes)
            with unreadable(KEPT), _alone(self.folder):
                self._spend(coming_bytes)
                _evict(self.folder, self.quota_bytes, coming_bytes)
                self.coming_bytes = coming_bytes
                self.save()
        super().reserve(coming_bytes)

    def arrived(self, n_bytes: int) -> None:
        """So many bytes need no more room that is kept free."""
        if n_bytes and self.coming_bytes:
            self.coming_bytes = max(self.coming_bytes - n_bytes, 0)
            self.save()

    def save(self) -> None:
        """Say it to the other processes, all of it at once."""
        partial = self.place.with_suffix(".new")
        said = {"files": self.files, "coming_bytes": self.coming_bytes}
        with unreadable(KEPT):
            partial.write_text(json.dumps(said), "utf-8")
            partial.replace(self.place)

    def end(self) -> None:
        """Let the files go; what has not come is not counted as fetched."""
        if self.coming_bytes:
            with suppress(OSError), _alone(self.folder):
                self._spend(-self.coming_bytes)
        _own.discard(self.place.name)
        self.place.unlink(missing_ok=True)

    def _spend(self, n_bytes: int) -> None:
        if self.hourly_bytes is not None:
            spend(self.folder / USES / FETCHED, n_bytes, self.hourly_bytes)

    def _held(self, file: str) -> int:
        paths = (self.folder / file, self.folder / f"{file}{PARTIAL}")
        return sum(path.stat().st_size for path in paths if path.exists())


@contextmanager
def sharing(
    folder: Path,
    files: Iterable[Path],
    quota_bytes: int | None,
    hourly_bytes: int | None = None,
) -> Iterator[SharedUse]:
    """Let nobody remove these files below `folder` inside the block."""
    use = SharedUse(folder, files, quota_bytes, hourly_bytes)
    lock = use.place.with_suffix(LOCK)
    with ExitStack() as stack:
        with unreadable(KEPT), _alone(folder):
            use.place.parent.mkdir(exist_ok=True)
            stack.callback(lock.unlink, missing_ok=True)
            stack.enter_context(WeakFileLock(lock))
            stack.callback(use.end)
            _own.add(use.place.name)
            use.save()
            for file in use.files:
                with suppress(FileNotFoundError):
                    os.utime(folder / file)
        yield use


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process counts or removes files there; all are quick."""
    folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(folder / LOCK):
        yield


def _check_quota(needed_bytes: int, quota_bytes: int) -> None:
    if needed_bytes > quota_bytes:
        needed, quota = needed_bytes / GIB, quota_bytes / GIB
        raise CheckpointError("over_quota", needed=needed, quota=quota)


@dataclass(frozen=True, order=True)
class _File:
    """A file that may be removed; the one used longest ago is the least."""

    used: int
    path: Path
    n_bytes: int


def _evict(folder: Path, quota_bytes: int, coming_bytes: int) -> None:
    held, reserved = _in_use(folder)
    files = list(_files(folder))
    excess = sum(file.n_bytes for file in files) + reserved + coming_bytes - quota_bytes
    free = sorted(file for file in files if not held.intersection(_names(file.path)))
    if excess > sum(file.n_bytes for file in free):
        raise CheckpointError("disk_busy", needed=coming_bytes / GIB, quota=quota_bytes / GIB)
    for file in free:
        if excess <= 0:
            break
        file.path.unlink(missing_ok=True)
        excess -= file.n_bytes
        _remove_empty(file.path.parent, held | {folder})


def _names(path: Path) -> set[Path]:
    """The names by which a use may hold it: a part of a file is held with the whole."""
    return {path, path.with_name(path.name.removesuffix(PARTIAL))}


def _files(folder: Path) -> Iterator[_File]:
    """All files below the folder, except what the processes tell each other."""
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
    """Files that living processes use with the folders around them, and the bytes to come."""
    held, reserved = set(), 0
    for place in (folder / USES).glob("*.json"):
        with suppress(FileNotFoundError):
            if place.name in _own or not _is_left(place):
                said = json.loads(place.read_text("utf-8"))
                reserved += said["coming_bytes"]
                for path in (folder / file for file in said["files"]):
                    held.update((path, *path.parents))
    return held, reserved


def _is_left(place: Path) -> bool:
    """Whether its process ended without tidying up; then this does."""
    lock = place.with_suffix(LOCK)
    try:
        with WeakFileLock(lock, timeout=TRY_SECONDS):
            place.unlink(missing_ok=True)
    except TimeoutError:
        return False
    lock.unlink(missing_ok=True)
    return True


def _remove_empty(place: Path, held: set[Path]) -> None:
    """Remove folders that hold nothing more, from `place` upwards."""
    while place not in held and {path.name for path in place.iterdir()} <= {LOCK}:
        (place / LOCK).unlink(missing_ok=True)
        place.rmdir()
        place = place.parent
