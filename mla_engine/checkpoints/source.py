"""One way to look into a checkpoint, wherever it lies."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import torch

from mla_engine.checkpoints import safetensors_file
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.local import LocalFiles
from mla_engine.checkpoints.ranges import Span
from mla_engine.checkpoints.safetensors_file import TensorEntry

CONFIG, INDEX, SINGLE = "config.json", "model.safetensors.index.json", "model.safetensors"
MOST_CONFIG_BYTES = 10_000_000
MOST_FILE_BYTES = 100_000_000
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
Progress = Callable[[int, int], None]


class ByteSource(Protocol):
    """What a folder and a Hub repository have in common."""

    name: str
    revision: str | None
    is_local: bool

    def names(self) -> tuple[str, ...]:
        """Names of the files at the top, () if they cannot be known."""

    def small_file(self, name: str, most_bytes: int) -> Path | None:
        """A whole file; None if there is none."""

    def size(self, file: str) -> int:
        """A file's size in bytes."""

    def read(self, spans: Sequence[Span], report: Callable[[int], None]) -> list[bytearray]:
        """The bytes of each span, reporting the number of bytes of each chunk."""


class Checkpoint:
    """A model's config and tensors: looked up in headers, read only when asked for.

    `config` is the parsed config.json; `revision` the commit of a Hub repository, None for a
    folder. Every refusal is a CheckpointError.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._headers: dict[str, dict[str, TensorEntry]] = {}
        self.name, self.revision, self.is_local = source.name, source.revision, source.is_local
        self.config = self._config()
        self._files = self._file_of_each_tensor()

    @property
    def is_random(self) -> bool:
        """Whether the checkpoint says of itself that its weights are random."""
        return self.config.get("mla_explorer_random") is True

    def names(self) -> tuple[str, ...]:
        """Names of the files at the top, () if they cannot be known."""
        return self._source.names()

    def tensor_names(self) -> tuple[str, ...]:
        """Names of all tensors that the index, or the only file's header, lists."""
        return tuple(self._files)

    def has(self, name: str) -> bool:
        """Whether the index, or the only file's header, names this tensor."""
        return name in self._files

    def file(self, name: str) -> Path | None:
        """A small whole file such as tokenizer.json; None if there is none."""
        return self._source.small_file(_inner(name), MOST_FILE_BYTES)

    def entries(self, names: Iterable[str]) -> dict[str, TensorEntry]:
        """Where these tensors lie, by name; reads the headers of their files alone.

        Raises:
            CheckpointError: tensors that are missing, or stand in two of the files.
        """
        names = list(dict.fromkeys(names))
        if missing := [name for name in names if name not in self._files]:
            raise CheckpointError(
                f"{self.name} has no tensor {', '.join(missing[:4])}"
                + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
            )
        headers = {file: self._header(file) for file in {self._files[name] for name in names}}
        for name in names:
            self._check_place(name, [file for file in headers if name in headers[file]])
        return {name: headers[self._files[name]][name] for name in names}

    def bytes_of(self, names: Iterable[str]) -> int:
        """How many bytes these tensors have on disk."""
        return sum(entry.n_bytes for entry in self.entries(names).values())

    def read(
        self, names: Iterable[str], progress: Progress | None = None
    ) -> dict[str, torch.Tensor]:
        """These tensors in their stored dtype; `progress(done_bytes, total_bytes)` may raise."""
        entries = list(self.entries(names).values())
        spans = [Span(entry.file, entry.start, entry.stop) for entry in entries]
        data = self._read(spans, progress)
        return {
            entry.name: safetensors_file.as_tensor(buffer, entry.dtype, entry.shape)
            for entry, buffer in zip(entries, data, strict=True)
        }

    def rows(
        self, name: str, numbers: Sequence[int], progress: Progress | None = None
    ) -> torch.Tensor:
        """Rows `numbers` of a matrix, [len(numbers), columns]; the other rows are not read.

        Raises:
            CheckpointError: the tensor is no matrix, or has no such row.
        """
        entry = self.entries([name])[name]
        if len(entry.shape) != 2:
            raise CheckpointError(f"{name} has the shape {entry.shape}, so it has no rows")
        n_rows, n_columns = entry.shape
        if wrong := [number for number in numbers if not 0 <= number < n_rows]:
            raise CheckpointError(f"{name} has rows 0 to {n_rows - 1}, so no row {wrong[0]}")
        row_bytes = entry.n_bytes // n_rows if n_rows else 0
        spans = [
            Span(
                entry.file, entry.start + number * row_bytes, entry.start + (number + 1) * row_bytes
            )
            for number in numbers
        ]
        unique = list(dict.fromkeys(spans))
        data = dict(zip(unique, self._read(unique, progress), strict=True))
        joined = bytearray().join(data[span] for span in spans)
        return safetensors_file.as_tensor(joined, entry.dtype, (len(numbers), n_columns))

    def _read(self, spans: list[Span], progress: Progress | None) -> list[bytearray]:
        total, done = sum(span.n_bytes for span in spans), 0

        def report(n_bytes: int) -> None:
            nonlocal done
            done += n_bytes
            if progress is not None:
                progress(done, total)

        return self._source.read(spans, report)

    def _config(self) -> dict[str, Any]:
        path = self._source.small_file(CONFIG, MOST_CONFIG_BYTES)
        if path is None:
            raise CheckpointError(f"{self.name} has no {CONFIG}, so it is not a model's folder")
        return safetensors_file.parse_json(path.read_bytes(), CONFIG)

    def _file_of_each_tensor(self) -> dict[str, str]:
        path = self._source.small_file(INDEX, MOST_FILE_BYTES)
        if path is None:
            self._check_single()
            return dict.fromkeys(self._header(SINGLE), SINGLE)
        files = safetensors_file.parse_json(path.read_bytes(), INDEX).get("weight_map")
        if not isinstance(files, dict):
            raise CheckpointError(f"{INDEX} has no object weight_map")
        for file in set(map(str, files.values())):
            _inner(file)
            if not file.endswith(".safetensors"):
                raise CheckpointError(f"{INDEX} names {file!r:.120}, which is no safetensors file")
        return files

    def _check_single(self) -> None:
        """Say what is there instead if there is no safetensors file."""
        names = self._source.names()
        if not names or SINGLE in names:
            return
        pickles = [name for name in names if name.endswith(PICKLES)]
        if pickles:
            raise CheckpointError(
                f"{self.name} holds its weights as pickle ({pickles[0]}), which can run code when "
                "opened and is never opened here: convert it to safetensors first"
            )
        raise CheckpointError(f"{self.name} has neither {SINGLE} nor {INDEX}")

    def _header(self, file: str) -> dict[str, TensorEntry]:
        if file not in self._headers:
            size = self._source.size(file)
            first = Span(file, 0, min(size, safetensors_file.LENGTH_BYTES))
            [prefix] = self._source.read([first], lambda _: None)
            length = safetensors_file.header_bytes(prefix, file, size)
            [header] = self._source.read(
                [Span(file, first.stop, first.stop + length)], lambda _: None
            )
            self._headers[file] = safetensors_file.parse_header(header, file, size)
        return self._headers[file]

    def _check_place(self, name: str, found: list[str]) -> None:
        expected = self._files[name]
        if expected not in found:
            raise CheckpointError(f"{INDEX} says that {name} is in {expected}, but it is not there")
        if len(found) > 1:
            raise CheckpointError(f"{name} stands twice, in {' and '.join(sorted(found))}")


def _inner(name: str) -> str:
    """`name` itself, if it is a plain relative path that stays inside."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or {"\\", ":", "\0"} & set(name) or not path.parts:
        raise CheckpointError(f"the file name {name!r:.120} leads out of the model's folder")
    return name


def open_checkpoint(source: str | Path | Checkpoint, revision: str | None = None) -> Checkpoint:
    """The checkpoint in a local folder, or in the Hub repository "owner/name" at a revision.

    One that is open already is returned as it is.

    Raises:
        CheckpointError: nothing of that name, no access, or no model in safetensors files.
    """
    if isinstance(source, Checkpoint):
        return source
    folder = Path(source).expanduser()
    if folder.is_dir():
        if revision:
            raise CheckpointError(f"a folder has no revision ({revision!r:.60}): leave it out")
        return Checkpoint(LocalFiles(folder))
    raise CheckpointError(f"there is no folder {str(source)!r:.120}")
