"""The files of a checkpoint, and those of a local folder."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kvcount.files.errors import CheckpointError, unreadable, usable
from kvcount.files.other_kinds import check_kind
from kvcount.refusals import Phrase

REPOSITORY = re.compile(r"[\w-][\w.-]{0,95}/[\w.-]{1,96}", re.ASCII)  # of the Hub: owner/name
CONFIG = "config.json"
FOLDERS = "models/"  # so begins a name of the app's own folders, there or not, and no repository's
MOST_CONFIG_BYTES = 6_000_000  # most have some thousand, one that lists quantised experts 4 million
CHUNK_BYTES = 2**22  # progress is reported, and reading can be stopped, after each
Report = Callable[[int], None]


@dataclass(frozen=True, order=True)
class Span:
    """Bytes `start` to `stop` of `file`."""

    file: str
    start: int
    stop: int

    @property
    def n_bytes(self) -> int:
        """Their number."""
        return self.stop - self.start


class Files(Protocol):
    """The common methods of a folder and a Hub repository."""

    name: str
    revision: str | None

    def names(self) -> tuple[str, ...]:
        """Return the names of the files at the top, () if they cannot be known."""

    def small_file(self, name: str, most_bytes: int) -> bytes | None:
        """Return all of a file, None if there is none; CheckpointError above `most_bytes`."""

    def size(self, file: str) -> int:
        """Return the size of a file in bytes; CheckpointError if it is missing."""

    def fetch(self, spans: Sequence[Span], report: Report) -> None:
        """Bring the bytes of each span to this machine's disk; `report` gets byte counts."""

    def read(self, spans: Sequence[Span], report: Report) -> list[bytearray]:
        """Return the bytes of each span; `report` gets the number of bytes of each chunk."""


class LocalFiles:
    """The files of one folder; a name or a link that leads out of it is refused."""

    revision = None

    def __init__(self, folder: Path) -> None:
        with usable(str(folder)):
            self.folder = folder.expanduser().resolve()
        self.name = self.folder.name

    def names(self) -> tuple[str, ...]:
        """Return the names of the files at the top of the folder."""
        with unreadable(self.name):
            found = [path.name for path in self.folder.iterdir() if path.is_file()]
        return tuple(sorted(name for name in found if name.isprintable()))

    def small_file(self, name: str, most_bytes: int) -> bytes | None:
        """Return all of a file, None if there is none; CheckpointError above `most_bytes`."""
        path = self._inside(name)
        return at_most(path, name, most_bytes) if _is_file(path, name) else None

    def size(self, file: str) -> int:
        """Return the size of a file in bytes; CheckpointError if it is missing."""
        path = self._inside(file)
        if not _is_file(path, file):
            raise CheckpointError("missing", file=file, where=self.name)
        with unreadable(file):
            return path.stat().st_size

    def fetch(self, spans: Sequence[Span], report: Report) -> None:
        """Report that all is here."""
        report(sum(span.n_bytes for span in spans))

    def read(self, spans: Sequence[Span], report: Report) -> list[bytearray]:
        """Return the bytes of each span; `report` gets the number of bytes of each chunk."""
        return [read_span(self._inside(span.file), span, report) for span in spans]

    def _inside(self, name: str) -> Path:
        """Return the real path of `name`; links into the blobs of the Hub's client are fine."""
        try:
            path = (self.folder / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise CheckpointError("leads_nowhere", name=name, reason=Phrase("no_path")) from error
        roots = [self.folder]
        if self.folder.parent.name == "snapshots":
            roots.append(self.folder.parents[1] / "blobs")
        if not any(path.is_relative_to(root) for root in roots):
            raise CheckpointError("leads_out", name=name, folder=self.name)
        return path


def existing(name: object) -> Path | None:
    """Return the file or folder of this name, None where there is none."""
    if not name or not isinstance(name, str | Path):  # "" would be the present folder
        return None
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, a zero byte, no such user
        return None


def _is_file(path: Path, name: str) -> bool:
    try:
        return path.is_file()
    except PermissionError as error:  # it may be there
        raise CheckpointError("unreadable", where=name, reason=error.strerror) from error
    except (OSError, ValueError):  # a name that is too long
        return False


def at_most(path: Path, name: str, most_bytes: int) -> bytes:
    """Return all bytes of the file at `path`, called `name`.

    Raises:
        CheckpointError: above `most_bytes`, or a file of another kind.
    """
    with unreadable(name), path.open("rb") as file:
        data = file.read(most_bytes + 1)
        check_kind(data, name)
        if len(data) > most_bytes:
            size = max(path.stat().st_size, len(data))
            raise CheckpointError("too_large", name=name, size=size, most=most_bytes)
    return data


def read_span(path: Path, span: Span, report: Report) -> bytearray:
    """Return the bytes of `span` from the file at `path`; `report` gets those of each chunk."""
    data = bytearray(span.n_bytes)
    rest = memoryview(data)
    with unreadable(span.file), path.open("rb") as file:
        file.seek(span.start)
        while rest:
            if not (n := file.readinto(rest[:CHUNK_BYTES])):
                raise CheckpointError("ends_early", file=span.file, stop=span.stop)
            rest = rest[n:]
            report(n)
    return data
