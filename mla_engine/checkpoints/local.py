"""Bytes of a checkpoint in a local folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mla_engine.checkpoints.errors import CheckpointError, unreadable
from mla_engine.checkpoints.spans import Span

CHUNK_BYTES = 2**22  # progress is reported, and reading can be stopped, after each


class LocalFiles:
    """The files of one folder; a name or a link that leads out of it is refused."""

    is_local = True
    revision = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().resolve()
        self.name = self.folder.name

    def names(self) -> tuple[str, ...]:
        """Names of the files at the top of the folder."""
        with unreadable(self.name):
            return tuple(sorted(path.name for path in self.folder.iterdir() if path.is_file()))

    def small_file(self, name: str, most_bytes: int) -> bytes | None:
        """All of a file, None if there is none; CheckpointError above `most_bytes`."""
        path = self._inside(name)
        return at_most(path, name, most_bytes) if _is_file(path) else None

    def size(self, file: str) -> int:
        """Size of a file in bytes; CheckpointError if it is missing."""
        path = self._inside(file)
        if not _is_file(path):
            raise CheckpointError("missing", file=file, where=self.folder)
        return path.stat().st_size

    def fetch(self, spans: Sequence[Span], report: Callable[[int], None]) -> None:
        """They lie here already."""
        report(sum(span.n_bytes for span in spans))

    def read(self, spans: Sequence[Span], report: Callable[[int], None]) -> list[bytearray]:
        """The bytes of each span; `report` gets the number of bytes of each chunk."""
        return [read_span(self._inside(span.file), span, report) for span in spans]

    def _inside(self, name: str) -> Path:
        """The real path of `name`; links into the Hub's own blobs are the client's, and fine."""
        try:
            path = (self.folder / name).resolve()
        except (OSError, RuntimeError) as error:  # a link to itself
            raise CheckpointError("leads_nowhere", name=name, reason=error) from error
        roots = [self.folder]
        if self.folder.parent.name == "snapshots":
            roots.append(self.folder.parents[1] / "blobs")
        if not any(path.is_relative_to(root) for root in roots):
            raise CheckpointError("leads_out", name=name, folder=self.folder)
        return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def at_most(path: Path, name: str, most_bytes: int) -> bytes:
    """All bytes of the file at `path`, which is called `name`; an error above `most_bytes`."""
    with unreadable(name), path.open("rb") as file:
        data = file.read(most_bytes + 1)
        if len(data) > most_bytes:
            size = max(path.stat().st_size, len(data))
            raise CheckpointError("too_large", name=name, size=size, most=most_bytes)
    return data


def read_span(path: Path, span: Span, report: Callable[[int], None]) -> bytearray:
    """The bytes of `span` from the file at `path`; `report` gets the bytes of each chunk."""
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
