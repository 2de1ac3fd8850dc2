"""JSON objects out of files that nobody vouches for: read in time and memory that grow with them.

What Python's parser takes and the rest of the package would stumble over is refused here: a key
that stands twice, values without end, objects in objects without end, half characters.
"""

import json
import re
from collections import Counter
from itertools import accumulate
from typing import Any, Protocol

from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.checkpoints.names import CONFIG, MOST_CONFIG_BYTES

MOST_VALUES = 4_000_000  # ten a tensor, of the most tensors that a checkpoint may have
MOST_DEPTH = 32
STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}


class SmallFiles(Protocol):
    """Files of a folder or a repository that are read whole."""

    name: str

    def small_file(self, name: str, most_bytes: int) -> bytes | None:
        """All of a file; None if there is none."""


def config_of(files: SmallFiles) -> dict[str, Any]:
    """The config.json of a folder or a repository.

    Raises:
        CheckpointError: there is none, or as `parse_json`.
    """
    if (text := files.small_file(CONFIG, MOST_CONFIG_BYTES)) is None:
        raise CheckpointError("no_config", name=files.name, file=CONFIG)
    return parse_json(text, CONFIG)


def parse_json(data: bytes, file: str) -> dict[str, Any]:
    """The JSON object in `data`, which is UTF-8.

    Raises:
        CheckpointError: no object, a key twice, more values or levels than any model's file has.
    """
    try:
        text = str(data, "utf-8")
        _check_count(text)
        value = json.loads(text, object_pairs_hook=_once)
    except CheckpointError as error:
        raise CheckpointError("at", where=file, reason=error) from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError("no_json", file=file, reason=error) from None
    if not isinstance(value, dict):
        raise CheckpointError("no_object", file=file, kind=type(value).__name__)
    _check_depth(text, file)
    return value


def _check_count(text: str) -> None:
    """Raise before anything is made of the text; signs within strings count as well."""
    if (most := sum(map(text.count, ",[{"))) > MOST_VALUES:
        raise CheckpointError("many_values", given=most, most=MOST_VALUES)


def _check_depth(text: str, file: str) -> None:
    """Raise where a value could be too deep to be shown or compared; `text` is valid."""
    brackets = re.sub(r"[^][{}]+", "", STRINGS.sub("", text))
    if max(accumulate(map(STEPS.__getitem__, brackets))) > MOST_DEPTH:
        raise CheckpointError("deep_json", file=file, most=MOST_DEPTH)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        twice = next(key for key, count in Counter(k for k, _ in pairs).items() if count > 1)
        raise CheckpointError("twice_in_json", key=twice)
    "".join(names).encode()  # no half characters, which no message could show
    return names
