"""A file of activations that the reader saved: the input of an attention as safetensors.

The tensor `h` [t,d] or [1,t,d]; metadata may hold `tokens` (a JSON list of strings, one a token)
and `layer`, against which the request is checked.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from torch import Tensor

from kvcount.files.errors import CheckpointError, unreadable, usable
from kvcount.files.folder import existing
from kvcount.files.safetensors_header import LENGTH_BYTES, header_bytes
from kvcount.refusals import Phrase
from mla_engine import budget
from mla_engine.checkpoints import safetensors_file
from mla_engine.checkpoints.convert import check_finite
from mla_engine.checkpoints.safetensors_file import FULL
from mla_engine.checkpoints.tokens import MOST_CHARACTERS, MOST_TOKENS, visible

MOST_HEADER_BYTES = 2_000_000  # the longest names of the most tokens, and more


@dataclass(frozen=True, eq=False)
class Activations:
    """The hidden states of a file, and its tokens if it names them."""

    h: Tensor  # [1,t,d], float32
    tokens: tuple[str, ...] | None


def read_activations(file: str | Path | bytes, d_model: int, layer: int) -> Activations:
    """Return the hidden states in a file, or in the bytes of one.

    Raises:
        CheckpointError: no safetensors file, no tensor h, another width or layer than asked for,
            too many tokens, NaN or Inf.
        MemoryBudgetError: the tensor is beyond the memory budget.
    """
    if isinstance(file, bytes):
        return _read(io.BytesIO(file), len(file), "the file", d_model, layer)
    with usable(file):
        path = Path(file)
    if path.suffix != ".safetensors":
        raise CheckpointError("no_safetensors", name=path.name)
    if (path := existing(path)) is None or not path.is_file():
        raise CheckpointError("no_file", path=str(file))
    with unreadable(path.name), path.open("rb") as stream:
        return _read(stream, path.stat().st_size, path.name, d_model, layer)


def _read(stream: BinaryIO, size: int, name: str, d_model: int, layer: int) -> Activations:
    prefix = stream.read(LENGTH_BYTES)
    length = header_bytes(prefix, name, size, MOST_HEADER_BYTES)
    entries, metadata = safetensors_file.header_and_metadata(stream.read(length), name, size)
    entry = entries.get("h")
    if entry is None or entry.dtype not in FULL:
        raise CheckpointError("no_h", name=name, dtypes=", ".join(FULL))
    tokens = entry.shape[-2] if len(entry.shape) > 1 else 0
    if entry.shape not in {(tokens, d_model), (1, tokens, d_model)} or not tokens:
        raise CheckpointError("h_shape", name=name, shape=list(entry.shape), d_model=d_model)
    if tokens > MOST_TOKENS:
        raise CheckpointError("h_tokens", name=name, tokens=tokens, most=MOST_TOKENS)
    budget.require(3 * entry.n_bytes, name, Phrase("fewer_tokens"))
    names = _names(metadata, tokens, layer)
    stream.seek(entry.start)
    data = bytearray(stream.read(entry.n_bytes))
    h = safetensors_file.as_tensor(data, entry.dtype, (1, tokens, d_model)).float()
    check_finite("h", h)
    return Activations(h, names)


def _names(metadata: Mapping[str, Any], n_tokens: int, layer: int) -> tuple[str, ...] | None:
    """Return the tokens that the metadata names, None if it names none."""
    said = metadata.get("layer")
    if said is not None and said != str(layer):
        raise CheckpointError("other_layer", said=said, layer=layer)
    if "tokens" not in metadata:
        return None
    try:
        names = json.loads(metadata["tokens"])
    except (TypeError, ValueError, RecursionError):
        names = None
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != n_tokens:
        raise CheckpointError("names_list", count=n_tokens)
    if (n_characters := sum(map(len, names))) > MOST_CHARACTERS:
        raise CheckpointError("names_long", given=n_characters, most=MOST_CHARACTERS)
    return tuple(map(visible, names))
