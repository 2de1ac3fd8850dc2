"""The messages of all addresses as files: what several addresses share lies in one place.

A run's file holds the pieces of its messages in order, behind a line of JSON that tells them: a
number is so many bytes that follow in this file, a text names the file of a piece that others have
too, and null stands for the name of the run. All files are compressed.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from ui.site.protocol import KEPT, LENGTH, Run
from ui.site.store import Store, address_of
from ui.streamlit_internals import ForwardMsg

RUNS, SUFFIX = "run", "bin"  # a suffix that no server takes for a compression of its own
NAME = b"0" * LENGTH
LETTERS = 12  # of the name of a file


@dataclass(frozen=True)
class Piece:
    """A part of a message: the name of its run, or bytes, which others may have too."""

    body: bytes
    own: bool = True


def pieces(body: bytes) -> list[Piece]:
    """Cut a message where a long text begins or ends, and around the name of its run."""
    cuts = {0, len(body)}
    for text in _long(ForwardMsg.FromString(body)):
        at = body.find(text)
        cuts |= {at, at + len(text)}
    at = body.find(NAME)
    if at >= 0:
        cuts |= {at, at + LENGTH}
    ends = sorted(cuts)
    parts = [body[start:end] for start, end in pairwise(ends)]
    return [Piece(part, len(part) < KEPT) for part in parts]


def _long(message: Message) -> Iterator[bytes]:
    """Yield the long texts in a message."""
    for _, value in message.ListFields():
        for one in (
            value if hasattr(value, "__len__") and not isinstance(value, str | bytes) else [value]
        ):
            if isinstance(one, Message):
                yield from _long(one)
            elif isinstance(one, str | bytes) and len(one) >= KEPT:
                yield one.encode() if isinstance(one, str) else one


def named(body: bytes) -> str:
    """Return the name of a file of these contents."""
    return sha256(body).hexdigest()[:LETTERS]


def write(store: Store, folder: Path) -> dict[str, str]:
    """Write the files of all addresses; return the name of each one's."""
    cut = cache(pieces)
    used: Counter[bytes] = Counter()
    every = store.addresses()
    for address in every:
        shared = {p.body for body in store.run(address).messages for p in cut(body) if not p.own}
        used.update(shared)
    place = folder / RUNS
    place.mkdir(parents=True, exist_ok=True)
    files = {}
    for address in every:
        run = store.run(address)
        body, shared = _written(run, [cut(one) for one in run.messages], used)
        files[address] = named(body)
        for name, content in ({named(body): body} | shared).items():
            _keep(place / f"{name}.{SUFFIX}", content)
    return files


def _written(
    run: Run, messages: list[list[Piece]], used: Counter[bytes]
) -> tuple[bytes, dict[str, bytes]]:
    """Return the contents of a run's file, and the files that it names."""
    told, inline, shared = [], [], {}
    for parts in messages:
        row: list[int | str | None] = []
        for part in parts:
            if part.body == NAME:
                row.append(None)
            elif part.own or used[part.body] == 1:
                row.append(len(part.body))
                inline.append(part.body)
            else:
                shared[named(part.body)] = part.body
                row.append(named(part.body))
        told.append(row)
    head = {"here": address_of(run.page, run.query), "shown": shown(run), "messages": told}
    return _line(head) + b"".join(inline), shared


def shown(run: Run) -> dict[str, str]:
    """Return what each widget of a page says, by its key."""
    return {one.key: one.said for one in run.controls() if one.said is not None}


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _keep(file: Path, body: bytes) -> None:
    if not file.exists():
        file.write_bytes(gzip.compress(body, 9, mtime=0))
