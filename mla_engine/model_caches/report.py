"""What is said of a cache: one object of figures, and it as text, as JSON and as CSV."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from mla_engine.devices import GPUS
from mla_engine.model_caches.counting import OfKind, by_kind
from mla_engine.model_caches.parts import Model
from mla_engine.model_caches.placing import Placing
from mla_engine.model_caches.storage import Storage

KINDS = {
    "mha": "MHA, a key and a value for every head",
    "gqa": "GQA, heads share keys and values",
    "mqa": "MQA, one key and value for all heads",
    "window": "sliding window",
    "chunk": "attention within chunks",
    "blocks": "block-sparse attention with index keys",
    "latent": "MLA, a latent and a rotary key",
    "indexed": "DSA, MLA with an indexer",
    "shared_choice": "DSA, with an earlier layer's choice",
    "csa": "CSA, pooled entries that an indexer chooses",
    "hca": "HCA, pooled entries",
    "csa2": "CSA2, pooled entries that later layers read too",
    "csa2_reader": "CSA2, reads an earlier layer's entries",
    "kda": "KDA, a state",
    "delta": "gated delta rule, a state",
    "lightning": "lightning attention, a state",
    "mamba": "state-space model, a state",
    "conv": "short convolution",
    "shared": "reads an earlier layer's cache",
    "none": "no attention",
}
SUMMED = tuple(field.name for field in fields(OfKind) if field.name != "kind")
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


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
        weight_bytes: of one parameter.
    """

    storage: Storage
    kv: str = "bf16"
    context: int = 131_072
    batch: int = 1
    gpus: int = 1
    gpu: str = "h200"
    parameters: float | None = None
    weight_bytes: float = 2


def figures(name: str, model: Model, asked: Asked) -> dict[str, Any]:
    """Every figure by name, numbers as numbers; bytes over all layers.

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
        "kinds": [_of_kind(one) for one in kinds],
        "gpus": _gpus(model, asked),
    }


def number(value: Fraction | int) -> int | float:
    """A whole number as one."""
    return int(value) if Fraction(value).denominator == 1 else float(value)


def _of_kind(one: OfKind) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "layers": one.layers,
        "stored_numbers_per_token": number(one.numbers_per_token),
        "stored_bytes_per_token": number(one.bytes_per_token),
        "window_bytes": number(one.window_bytes),
        "state_bytes": number(one.state_bytes),
        "stored_bytes": number(one.held_bytes),
        "read_bytes_per_step": number(one.read_bytes),
    }


def _gpus(model: Model, asked: Asked) -> dict[str, Any]:
    """What each GPU holds, with heads split and with sequences dealt out."""
    weights = (asked.parameters or 0) * asked.weight_bytes
    ways = {"tensor": 1, "data": asked.gpus}
    return {
        "gpu": asked.gpu,
        "count": asked.gpus,
        "memory_bytes": number(Fraction(GPUS[asked.gpu].memory_bytes)),
        "weight_bytes_each": number(Fraction(weights) / asked.gpus) if weights else None,
    } | {way: _placed(model, asked, data, weights) for way, data in ways.items()}


def _placed(model: Model, asked: Asked, data: int, weights: float) -> dict[str, Any]:
    sizes = {"gpus": asked.gpus, "data": data, "batch": asked.batch}
    placing = Placing(model=model, storage=asked.storage, **sizes)
    memory = GPUS[asked.gpu].memory_bytes
    return {
        "sequences_each": placing.sequences,
        "stored_bytes_per_token_each": number(placing.token_bytes()),
        "stored_bytes_each": number(placing.held_bytes(asked.context)),
        "longest_context": placing.longest_context(memory, weights),
    }


def as_json(found: Mapping[str, Any]) -> str:
    """The figures as one object."""
    return json.dumps(found, indent=2)


def as_csv(found: Mapping[str, Any]) -> str:
    """A row for each kind of layer, and one for all."""
    rows = [
        *found["kinds"],
        {"kind": "all"} | {key: found[key] for key in found["kinds"][0] if key in found},
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(found["kinds"][0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def as_text(found: Mapping[str, Any]) -> str:
    """The figures as lines to be read."""
    return "\n".join((*_head(found), "", *_kinds(found), "", *_placed_lines(found)))


def _head(found: Mapping[str, Any]) -> list[str]:
    batch, context = found["batch"], found["context"]
    lines = [
        f"{found['model']}: {found['layers']} layers, cache in {found['kv']}",
        f"stored a token        {_count(found['stored_bytes_per_token'])} bytes"
        f" ({_count(found['stored_numbers_per_token'])} numbers)",
    ]
    if found["window_bytes"]:
        lines.append(f"windows, at most      {_count(found['window_bytes'])} bytes a sequence")
    if found["state_bytes"]:
        lines.append(f"states                {_count(found['state_bytes'])} bytes a sequence")
    return [
        *lines,
        f"stored, {batch} x {context:,} tokens: {size(found['stored_bytes'])}",
        f"read for the next token:   {size(found['read_bytes_per_step'])}",
    ]


def _kinds(found: Mapping[str, Any]) -> list[str]:
    lines = [f"{'layers':>6}  {'stored a token':>14}  {'read a step':>13}  kind"]
    for one in found["kinds"]:
        kind = " and ".join(KINDS[part] for part in one["kind"].split("+"))
        stored, read = _count(one["stored_bytes_per_token"]), size(one["read_bytes_per_step"])
        lines.append(f"{one['layers']:>6}  {stored:>14}  {read:>13}  {kind}")
    return lines


def _placed_lines(found: Mapping[str, Any]) -> list[str]:
    on = found["gpus"]
    weights = on["weight_bytes_each"]
    said = f"weights {size(weights)} each" if weights else "weights not known: left out"
    lines = [f"{on['count']} x {GPUS[on['gpu']].name}, {size(on['memory_bytes'])} each, {said}"]
    for way, words in {"tensor": "heads split", "data": "sequences dealt out"}.items():
        one = on[way]
        longest = (
            "without bound" if one["longest_context"] is None else f"{one['longest_context']:,}"
        )
        lines.append(
            f"{words:<20}  {size(one['stored_bytes_each'])} each, longest context {longest}"
        )
    if found["max_context"]:
        lines.append(f"made for contexts of  {found['max_context']:,}")
    return lines


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def size(n_bytes: float) -> str:
    """Bytes to be read, in the largest unit that they reach."""
    unit = next((one for one in UNITS if n_bytes >= one[0]), None)
    return f"{n_bytes / unit[0]:.4g} {unit[1]}" if unit else f"{n_bytes:g} bytes"
