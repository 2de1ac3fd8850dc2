"""An open checkpoint: a folder on this machine, or a repository of the Hub."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from kvcount.files.config_json import config_of, parse_json
from kvcount.files.errors import CheckpointError, unreadable
from kvcount.files.folder import REPOSITORY, Files, Report, Span, existing
from kvcount.files.local import is_gguf, local_files
from kvcount.files.other_kinds import check_kind
from kvcount.files.repository import repository_files
from kvcount.files.safetensors_header import INDEX, MOST_INDEX_BYTES, SINGLE, read_header
from kvcount.refusals import Phrase, linked
from mla_engine.checkpoints import safetensors_file
from mla_engine.checkpoints.safetensors_file import TensorEntry

MOST_FILE_BYTES = 64_000_000  # Gemma's tokenizer.json has 34 million
MOST_SHARDS = 4_000
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
Progress = Callable[[int, int], None]


class Checkpoint:
    """A model's config and tensors: looked up in headers, read only when asked for.

    `config` is the parsed config.json; `revision` the commit of a Hub repository, None for a
    folder. Every refusal is a CheckpointError.
    """

    def __init__(self, source: Files) -> None:
        self._source = source
        self._read_headers: set[str] = set()
        self._entries: dict[str, TensorEntry] = {}
        self._in_order: list[str] | None = None
        self._doubled: dict[str, set[str]] = {}  # tensor -> its files, where there are two or more
        self.name, self.revision = source.name, source.revision
        self.config = config_of(source)
        self._files = self._file_of_each_tensor()

    @property
    def is_random(self) -> bool:
        """True where the checkpoint says of itself that its weights are random."""
        return self.config.get("mla_explorer_random") is True

    def names(self) -> tuple[str, ...]:
        """Return the names of the files at the top, () if they cannot be known."""
        return self._source.names()

    def below(self, path: str) -> tuple[str, ...]:
        """Return the names of all tensors that begin with `path`, without a look at the others."""
        if self._in_order is None:
            self._in_order = sorted(self._files)
        beyond = path[:-1] + chr(ord(path[-1]) + 1)
        ends = (bisect_left(self._in_order, end) for end in (path, beyond))
        return tuple(self._in_order[slice(*ends)])

    def has(self, name: str) -> bool:
        """Return whether the index, or the only file's header, names this tensor."""
        return name in self._files

    def file(self, name: str) -> bytes | None:
        """Return all of a small file such as tokenizer.json; None if there is none."""
        return self._source.small_file(_inner(name), MOST_FILE_BYTES)

    def entries(self, names: Iterable[str]) -> dict[str, TensorEntry]:
        """Return where these tensors lie, by name; only the headers of their files are read.

        Raises:
            CheckpointError: tensors that are missing, or stand in two of the files.
        """
        names = list(dict.fromkeys(names))
        if missing := [name for name in names if name not in self._files]:
            more = Phrase("and_more", count=len(missing) - 4) if len(missing) > 4 else ""
            listed = ", ".join(missing[:4])
            raise CheckpointError("no_tensor", name=self.name, missing=listed, more=more)
        for file in {self._files[name] for name in names}:
            self._read_header(file)
        return {name: self._entry(name) for name in names}

    def bytes_of(self, names: Iterable[str]) -> int:
        """Return how many bytes these tensors have on disk."""
        return sum(entry.n_bytes for entry in self.entries(names).values())

    def read(
        self, names: Iterable[str], progress: Progress | None = None
    ) -> dict[str, torch.Tensor]:
        """Return these tensors as stored; `progress(done_bytes, total_bytes)` may raise to stop."""
        entries = self.entries(names).values()
        spans = _spans(entries)
        data = self._source.read(spans, _counting(spans, progress))
        return {
            entry.name: safetensors_file.as_tensor(buffer, entry.dtype, entry.shape)
            for entry, buffer in zip(entries, data, strict=True)
        }

    def fetch(self, names: Iterable[str], progress: Progress | None = None) -> None:
        """Bring these tensors to this machine's disk, where they are not yet; none is loaded.

        Raises:
            CheckpointError: as `read`; more than the free disk or the quota, before the first byte.
        """
        spans = _spans(self.entries(names).values())
        self._source.fetch(spans, _counting(spans, progress))

    def rows(
        self, name: str, numbers: Sequence[int], progress: Progress | None = None
    ) -> torch.Tensor:
        """Return rows `numbers` of a matrix, [len(numbers), columns]; the others are not read.

        Raises:
            CheckpointError: the tensor is no matrix, or has no such row.
        """
        entry = self.entries([name])[name]
        if len(entry.shape) != 2:
            raise CheckpointError("no_rows", name=name, shape=entry.shape)
        n_rows, n_columns = entry.shape
        if wrong := [number for number in numbers if not 0 <= number < n_rows]:
            raise CheckpointError("no_row", name=name, last=n_rows - 1, row=wrong[0])
        row_bytes = entry.n_bytes // max(n_rows, 1)
        starts = [entry.start + int(number) * row_bytes for number in numbers]
        spans = [Span(entry.file, start, start + row_bytes) for start in starts]
        unique = list(dict.fromkeys(spans))
        read = self._source.read(unique, _counting(unique, progress))
        data = dict(zip(unique, read, strict=True))
        joined = bytearray().join(data[span] for span in spans)
        return safetensors_file.as_tensor(joined, entry.dtype, (len(numbers), n_columns))

    def _file_of_each_tensor(self) -> dict[str, str]:
        """Ask the only file or else the index: transformers looks in this order, too."""
        if SINGLE in (names := self._source.names()):
            self._read_header(SINGLE)
            return dict.fromkeys(self._entries, SINGLE)
        if (text := self._source.small_file(INDEX, MOST_INDEX_BYTES)) is None:
            raise _no_weights(self.name, names)
        return _files_of(parse_json(text, INDEX).get("weight_map"))

    def _read_header(self, file: str) -> None:
        if file in self._read_headers:
            return
        size = self._source.size(file)
        header = read_header(self._source, file, size)
        found = safetensors_file.parse_header(header, file, size)
        safetensors_file.check_count(len(self._entries) + len(found), file)
        for name in self._entries.keys() & found.keys():
            self._doubled.setdefault(name, {self._entries[name].file}).add(file)
        self._entries |= found
        self._read_headers.add(file)

    def _entry(self, name: str) -> TensorEntry:
        if name in self._doubled:
            places = sorted(self._doubled[name])
            raise CheckpointError("stands_twice", name=name, places=linked("both", *places))
        entry, place = self._entries.get(name), self._files[name]
        if entry is None or entry.file != place:
            raise CheckpointError("not_in_place", index=INDEX, name=name, place=place)
        return entry


def _files_of(weight_map: Any) -> dict[str, str]:
    """Return tensor -> file as the index says it, each file's name held once."""
    if not isinstance(weight_map, dict):
        raise CheckpointError("no_weight_map", file=INDEX)
    safetensors_file.check_count(len(weight_map), INDEX)
    files: dict[str, str] = {}
    for file in weight_map.values():
        if not isinstance(file, str):
            raise CheckpointError("index_names", index=INDEX, file=file)
        files.setdefault(file, file)
    if wrong := [file for file in files if not _inner(file).endswith(".safetensors")]:
        raise CheckpointError("index_names", index=INDEX, file=wrong[0])
    if len(files) > MOST_SHARDS:
        raise CheckpointError("many_shards", index=INDEX, given=len(files), most=MOST_SHARDS)
    return {name: files[file] for name, file in weight_map.items()}


def _inner(name: str) -> str:
    """Return `name` if it is a plain relative path that stays inside; else CheckpointError."""
    parts = name.split("/")
    if {"", ".", ".."} & set(parts) or not name.isprintable() or {"\\", ":"} & set(name):
        raise CheckpointError("file_leads_out", name=name)
    return name


def _spans(entries: Iterable[TensorEntry]) -> list[Span]:
    return [Span(entry.file, entry.start, entry.stop) for entry in entries]


def _counting(spans: Sequence[Span], progress: Progress | None) -> Report:
    """Return what adds up the bytes of each chunk for `progress`."""
    total, done = sum(span.n_bytes for span in spans), 0

    def report(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        if progress is not None:
            progress(done, total)

    return report


def _no_weights(name: str, files: Sequence[str]) -> CheckpointError:
    """Return the refusal of a place without safetensors files."""
    if gguf := [file for file in files if file.lower().endswith(".gguf")]:
        return CheckpointError("other_kind", file=gguf[0], kind=Phrase("gguf"))
    if pickles := [file for file in files if file.endswith(PICKLES)]:
        return CheckpointError("pickle", name=name, file=pickles[0])
    listed = ", ".join(files[:6])
    return CheckpointError("no_weights", name=name, single=SINGLE, index=INDEX, listed=listed)


def open_checkpoint(source: str | Path | Checkpoint, revision: str | None = None) -> Checkpoint:
    """Open a local folder or GGUF file, or the Hub repository "owner/name" at a revision.

    Args:
        source: "owner/name" on the Hub, a folder, a GGUF file, or an open checkpoint, which is
            returned.
        revision: of a Hub repository.

    Raises:
        CheckpointError: nothing of that name, no access, or no model in safetensors files.
    """
    if isinstance(source, Checkpoint):
        return source
    if (local := existing(source)) and (local.is_dir() or is_gguf(local)):
        if revision:
            raise CheckpointError("folder_revision", revision=revision)
        return Checkpoint(local_files(local))
    if local is not None:  # a file, of which only the beginning is looked at
        with unreadable(local.name), local.open("rb") as file:
            check_kind(file.read(64), local.name)
    if not isinstance(source, str) or not REPOSITORY.fullmatch(source):
        raise CheckpointError("no_folder", source=str(source))
    return Checkpoint(repository_files(source, revision))
