"""JSON of strangers, read within bounds, and the entries of a config.json.

Time and memory grow with the length of the text. What Python's parser takes and the rest of the
package would stumble over is refused: a key that stands twice, more values or levels than any
model's file has, half characters.
"""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.files.folder import CONFIG, MOST_CONFIG_BYTES, Files
from kvcount.files.other_kinds import check_kind

MOST_VALUES = 4_000_000  # ten a tensor, of the most tensors that a checkpoint may have
MOST_DEPTH = 32
BESIDE = "hf_quant_config.json"  # the types that ModelOpt has chosen
STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}


def config_of(files: Files) -> dict[str, Any]:
    """Return the config.json of a folder or a repository.

    Raises:
        CheckpointError: there is none, or as `parse_json`.
    """
    if (text := files.small_file(CONFIG, MOST_CONFIG_BYTES)) is None:
        raise CheckpointError("no_config", name=files.name, file=CONFIG)
    return parse_json(text, CONFIG)


def with_beside(config: dict[str, Any], files: Files) -> dict[str, Any]:
    """Return a config.json with what ModelOpt has written beside it, under that file's name.

    Raises:
        CheckpointError: as `parse_json`.
    """
    if (text := files.small_file(BESIDE, MOST_CONFIG_BYTES)) is None:
        return config
    return config | {BESIDE: parse_json(text, BESIDE)}


def parse_json(data: bytes, file: str) -> dict[str, Any]:
    """Return the JSON object in `data`: UTF-8, or UTF-16 with a mark before it.

    Raises:
        CheckpointError: a file of another kind, no object, a key twice, more values or levels than
            any model's file has.
    """
    check_kind(data, file)
    try:
        text = str(data, "utf-16" if data.startswith(UTF_16) else "utf-8-sig")
        if (most := sum(map(text.count, ",[{"))) > MOST_VALUES:  # signs within strings included
            raise CheckpointError("many_values", given=most, most=MOST_VALUES)
        value = json.loads(text, object_pairs_hook=_with_unique_keys)
    except CheckpointError as error:
        raise CheckpointError("at", where=file, reason=error) from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError("no_json", file=file, reason=error) from None
    if not isinstance(value, dict):
        raise CheckpointError("no_object", file=file, kind=type(value).__name__)
    brackets = re.sub(r"[^][{}]+", "", STRINGS.sub("", text))
    if max(accumulate(map(STEPS.__getitem__, brackets))) > MOST_DEPTH:
        raise CheckpointError("deep_json", file=file, most=MOST_DEPTH)
    return value


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        twice = next(key for key, count in Counter(k for k, _ in pairs).items() if count > 1)
        raise CheckpointError("twice_in_json", key=twice)
    "".join(names).encode()  # no half characters, which no message could show
    return names


def entry(config: Mapping[str, Any], key: str) -> Any:
    """Return what stands under a key, or under "table.key" in a table; None without it."""
    name, _, inner = key.partition(".")
    found = config.get(name)
    if not inner:
        return found
    return found.get(inner) if isinstance(found, Mapping) else None
