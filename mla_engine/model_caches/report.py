"""What is said of a cache: one object of figures, as JSON and as CSV."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from mla_engine.devices import GPUS
from mla_engine.model_caches.counting import OfKind, by_kind
from mla_engine.model_caches.parts import Layer, Model, Part
from mla_engine.model_caches.placing import Placing
from mla_engine.model_caches.storage import TYPES, Storage

SUMMED = tuple(field.name for field in fields(OfKind) if field.name != "kind")
LONGEST, BEFORE_WEIGHTS = "longest_context", "longest_context_before_any_weights"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a cache is counted for.

    Args:
        storage: types of its parts, and how the reader wrote them.
        kv: the same as text.
        context, batch: tokens of a sequence, and sequences.
        gpus: GPUs that share the model.
        gpu: their kind, a key of GPUS.
        parameters: of the whole model, None leaves the weights out.
        weights: the type of a parameter, a key of TYPES.
    """

    storage: Storage
    kv: str = "bf16"
    context: int = 131_072
    batch: int = 1
    gpus: int = 1
    gpu: str = "h200"
    parameters: float | None = None
    weights: str = "bf16"


def figures(name: str, model: Model, asked: Asked) -> dict[str, Any]:
    """Every figure by name, numbers as numbers; bytes over all layers.

    What is stored and read counts all sequences, a window and a state one.

    Raises:
        RefusedError: a number of `asked` that does not fit, named with its value.
    """
    whole = Placing(model=model, storage=asked.storage, batch=asked.batch)
    kinds = by_kind(model, asked.storage, asked.context)
    totals = {key: sum(getattr(one, key) for one in kinds) for key in SUMMED}
    return {
        "model": name,
        "model_type": model.model_type,
        "layers": len(model.layers),
        "kv": asked.kv,
        "stored_numbers_per_token": number(totals["numbers_per_token"]),
        "stored_bytes_per_token": number(totals["bytes_per_token"]),
        "window_bytes": number(totals["window_bytes"]),
        "state_bytes": number(totals["state_bytes"]),
        "context": asked.context,
        "batch": asked.batch,
        "stored_bytes": number(whole.held_bytes(asked.context)),
        "read_bytes_per_step": number(asked.batch * totals["read_bytes"]),
        "max_context": model.max_context,
        "kinds": [
            _of_kind(one, asked) | {"parts": [_part(layer, part, asked) for part in layer.parts]}
            for one, layer in zip(kinds, model.groups, strict=True)
        ],
        "gpus": _gpus(model, asked),
    }


def number(value: Fraction | int) -> int | float:
    """A whole number as one."""
    return int(value) if Fraction(value).denominator == 1 else float(value)


def _of_kind(one: OfKind, asked: Asked) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "layers": one.layers,
        "stored_numbers_per_token": number(one.numbers_per_token),
        "stored_bytes_per_token": number(one.bytes_per_token),
        "window_bytes": number(one.window_bytes),
        "state_bytes": number(one.state_bytes),
        "stored_bytes": number(asked.batch * one.held_bytes),
        "read_bytes_per_step": number(asked.batch * one.read_bytes),
    }


def _part(layer: Layer, part: Part, asked: Asked) -> dict[str, Any]:
    """What a layer keeps of one name: a row, its type, and how many there are."""
    return {
        "part": part.name,
        "numbers_per_row": part.numbers,
        "type": asked.storage.name(layer.kind, part),
        "growth": part.growth,
        "tokens": part.length,
        "most_rows_read": part.read_rows,
        "stored": part.stored,
    }


def _gpus(model: Model, asked: Asked) -> dict[str, Any]:
    """What each GPU holds, with heads split and with sequences dealt out."""
    ways = {"tensor": 1, "data": asked.gpus}
    placed = {way: _placed(model, asked, data) for way, data in ways.items()}
    return {
        "gpu": asked.gpu,
        "count": asked.gpus,
        "memory_bytes": number(Fraction(GPUS[asked.gpu].memory_bytes)),
        "weights": asked.weights,
    } | placed


def _placed(model: Model, asked: Asked, data: int) -> dict[str, Any]:
    sizes = {"gpus": asked.gpus, "data": data, "batch": asked.batch}
    placing = Placing(model=model, storage=asked.storage, **sizes)
    memory = GPUS[asked.gpu].memory_bytes
    weights = placing.rank_parameters(asked.parameters or 0) * TYPES[asked.weights].bits / 8
    return {
        "weight_bytes_each": number(weights) if weights else None,
        "sequences_each": placing.sequences,
        "stored_bytes_per_token_each": number(placing.token_bytes()),
        "stored_bytes_each": number(placing.held_bytes(asked.context)),
        LONGEST if weights else BEFORE_WEIGHTS: placing.longest_context(memory, weights),
    }


def as_json(found: Mapping[str, Any]) -> str:
    """The figures as one object."""
    return json.dumps(found, indent=2)


def as_csv(found: Mapping[str, Any]) -> str:
    """A row for each kind of layer, and one for all."""
    of_all = {"kind": "all"} | {key: found[key] for key in found["kinds"][0] if key in found}
    columns = [key for key in found["kinds"][0] if key != "parts"]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows((*found["kinds"], of_all))
    return text.getvalue().rstrip("\n")
