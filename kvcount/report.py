"""The report on a cache: one object of figures, and it as JSON, as CSV and as lines of text."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import groupby
from typing import Any

from kvcount import checks, devices
from kvcount.counting import OfKind, Placing, by_kind, number
from kvcount.devices import Device
from kvcount.dtypes import TYPES, Storage
from kvcount.parts import Layer, Model, Part
from kvcount.planning import pipeline
from kvcount.planning.pipeline import refuse_mtp

SUMMED = tuple(field.name for field in fields(OfKind) if field.name != "kind")
LONGEST, BEFORE_WEIGHTS = "longest_context", "longest_context_before_any_weights"
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
    "rwkv": "RWKV, a state",
    "conv": "short convolution",
    "shared": "reads an earlier layer's cache",
    "images": "cross-attention to images, keeps nothing of a text",
    "none": "no attention",
}
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
ROWS = {  # growth of a part -> when a layer has a row of it
    "grows": "every {tokens:,} tokens",
    "window": "last {tokens:,} tokens",
    "buffer": "waiting to be pooled, fewer than {tokens:,}",
    "once": "whatever the length",
}
ROUNDED = "their number is a rounded one, so what fits is not a bound (--parameters)"
WAYS = {
    "tensor": "tensor parallel, heads split",
    "context": "and tokens dealt out (DCP)",
    "data": "data parallel, whole sequences",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The sizes that a cache is counted for.

    Args:
        storage: types of its parts, and how the reader wrote them.
        kv: the same as text.
        context, batch: tokens of a sequence, and sequences.
        gpus: GPUs that share the model.
        gpu: their kind, a key or a name of GPUS, or another device.
        parameters: of the whole model, None leaves the weights out.
        rounded: whether these are what a name or a text says, and not a count.
        routed: of them, those of experts that layers choose among, None where nobody counted.
        weights: the type of a parameter, a key of TYPES.
        pipeline: stages that the layers are dealt out to.
        context_ranks: GPUs among which a sequence's tokens are dealt out (DCP).
        mtp: whether the cache of layers that predict further tokens is counted, too.
    """

    storage: Storage
    kv: str = "bf16"
    context: int = 131_072
    batch: int = 1
    gpus: int = 1
    gpu: str | Device = "h200"
    parameters: float | None = None
    rounded: bool = False
    routed: float | None = None
    weights: str = "bf16"
    pipeline: int = 1
    context_ranks: int = 1
    mtp: bool = False


def figures(name: str, model: Model, asked: Asked) -> dict[str, Any]:
    """Return every figure by name, numbers as numbers; bytes over all layers.

    What is stored and read counts all sequences, a window and a state one.

    Raises:
        RefusedError: a number of `asked` that does not fit, named with its value.
    """
    counted = model.drafting if asked.mtp else model
    if asked.mtp:
        refuse_mtp(model, name)
    whole = Placing(model=counted, storage=asked.storage, batch=asked.batch)
    kinds = by_kind(counted, asked.storage, asked.context)
    totals = {key: sum(getattr(one, key) for one in kinds) for key in SUMMED}
    return {
        "model": name,
        "model_type": model.model_type,
        "layers": len(model.layers),
        "mtp_layers": len(counted.layers) - len(model.layers),
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
            for one, layer in zip(kinds, counted.groups, strict=True)
        ],
        "gpus": _gpus(model, asked),
    }


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
    """Describe a part of a layer: a row, its type, and how many there are."""
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
    """Return what each GPU holds, with heads split, with tokens and with sequences dealt out."""
    checks.multiple("gpus", asked.gpus, "pipeline", asked.pipeline)
    ways = {"tensor": (1, 1), "data": (asked.gpus // asked.pipeline, 1)}
    if asked.context_ranks > 1:
        ways["context"] = (1, asked.context_ranks)
    device = devices.gpu(asked.gpu)
    placed = {way: _placed(model, asked, *sizes) for way, sizes in ways.items()}
    return {
        "gpu": device.name,
        "count": asked.gpus,
        "pipeline": asked.pipeline,
        "context_parallel": asked.context_ranks,
        "memory_bytes": number(Fraction(device.memory_bytes)),
        "weights": asked.weights,
        "parameters": asked.parameters,
        "parameters_rounded": asked.rounded,
    } | placed


def _placed(model: Model, asked: Asked, data: int, context_ranks: int) -> dict[str, Any]:
    """Return the most that a GPU of any stage holds, and the least context that they leave."""
    on = {"storage": asked.storage, "data": data, "context_ranks": context_ranks}
    on |= {"gpus": asked.gpus // asked.pipeline, "batch": asked.batch}
    memory, whole = devices.gpu(asked.gpu).memory_bytes, Fraction(asked.parameters or 0)
    stages = pipeline.stages(model, asked.pipeline, whole, whole, Fraction(asked.routed or 0))
    placings = [
        Placing(model=one.model.drafting if asked.mtp else one.model, **on) for one in stages
    ]
    each = float(TYPES[asked.weights].bits_with_scales) / 8
    weights = [
        one.rank_parameters(stage.parameters) * each
        for one, stage in zip(placings, stages, strict=True)
    ]
    longest = [one.longest_context(memory, n) for one, n in zip(placings, weights, strict=True)]
    return {
        "weight_bytes_each": number(max(weights)) if max(weights) else None,
        "sequences_each": placings[0].sequences,
        "stored_bytes_per_token_each": number(max(one.token_bytes() for one in placings)),
        "stored_bytes_each": number(max(one.held_bytes(asked.context) for one in placings)),
        LONGEST if max(weights) else BEFORE_WEIGHTS: min(
            (n for n in longest if n is not None), default=None
        ),
    }


def as_json(found: Mapping[str, Any]) -> str:
    """Return the figures as one object."""
    return json.dumps(found, indent=2)


def as_csv(found: Mapping[str, Any]) -> str:
    """Return a row for each kind of layer, and one for all."""
    of_all = {"kind": "all"} | {key: found[key] for key in found["kinds"][0] if key in found}
    columns = [key for key in found["kinds"][0] if key != "parts"]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows((*found["kinds"], of_all))
    return text.getvalue().rstrip("\n")


def as_text(found: Mapping[str, Any]) -> str:
    """Return the figures as lines to be read."""
    return "\n".join((*_head(found), "", *_kinds(found), "", *_on_gpus(found)))


def _head(found: Mapping[str, Any]) -> Iterator[str]:
    kept = "as published" if found["kv"] == "published" else f"in {found['kv']}"
    mtp = f" and {found['mtp_layers']} of MTP" if found["mtp_layers"] else ""
    yield f"{found['model']}: {found['layers']} layers{mtp}, cache {kept}"
    n_bytes, numbers = found["stored_bytes_per_token"], found["stored_numbers_per_token"]
    yield f"each token adds       {_count(n_bytes)} bytes ({_count(numbers)} numbers)"
    if found["window_bytes"]:
        yield f"windows hold at most  {_count(found['window_bytes'])} bytes a sequence"
    if found["state_bytes"]:
        yield f"states hold           {_count(found['state_bytes'])} bytes a sequence"
    batch, context = found["batch"], found["context"]
    yield f"{batch:,} sequence{'s' * (batch > 1)} of {context:,} tokens"
    yield f"  stored              {size(found['stored_bytes'])}"
    yield f"  read in one step    {size(found['read_bytes_per_step'])}"


def _kinds(found: Mapping[str, Any]) -> Iterator[str]:
    """A line for the layers that keep the same, then what one of them keeps."""
    yield f"layers  bytes per token  {'window, state':>13}  {'read a step':>11}  kind"
    for one in found["kinds"]:
        kind = " + ".join(KINDS[part] for part in one["kind"].split("+"))
        bounded = size(held) if (held := one["window_bytes"] + one["state_bytes"]) else "0"
        token, read = _count(one["stored_bytes_per_token"]), size(one["read_bytes_per_step"])
        yield f"{one['layers']:>6}  {token:>15}  {bounded:>13}  {read:>11}  {kind}"
        for rows, parts in groupby(one["parts"], _rows):
            listed = " + ".join(
                f"{part['part']} {part['numbers_per_row']:,} {part['type']}" for part in parts
            )
            yield f"{'':>8}{rows}: {listed}"


def _rows(part: Mapping[str, Any]) -> str:
    """Say when there is a row of a part, and how many are read where not all are."""
    rows = ROWS[part["growth"]].format(**part)
    rows = "each token" if rows == "every 1 tokens" else rows
    rows = rows if part["stored"] else f"of an earlier layer, {rows}"
    return f"{rows}, {part['most_rows_read']:,} rows read" if part["most_rows_read"] else rows


def _on_gpus(found: Mapping[str, Any]) -> Iterator[str]:
    """Write what each GPU holds, however the model is shared."""
    on, context = found["gpus"], found["context"]
    weights = on["tensor"]["weight_bytes_each"]
    yield f"{on['count']} x {on['gpu']}, {size(on['memory_bytes'])} each; {_weights(on)}"
    title = "each holds at most" if on["count"] > 1 else "it holds"
    if on["pipeline"] > 1:
        title = f"most of {on['pipeline']} stages"
    most = "longest context" if weights else "longest context before any weights"
    yield f"{title:<31} sequences  bytes per token  {f'at {context:,}':>13}  {most}"
    alone = "a stage on each GPU" if on["pipeline"] > 1 else "all of it"
    ways = WAYS if on["count"] > on["pipeline"] else {"data": alone}
    for way, words in ways.items():
        if way not in on:
            continue
        one = on[way]
        held, longest = size(one["stored_bytes_each"]), _longest(one, on["memory_bytes"])
        token = _count(number(Fraction(one["stored_bytes_per_token_each"]) / one["sequences_each"]))
        yield f"{words:<31} {one['sequences_each']:>9,}  {token:>15}  {held:>13}  {longest}"
    if weights and weights >= on["memory_bytes"]:
        yield _too_large(on)
    if found["max_context"]:
        less = ", fewer than asked for" if found["max_context"] < context else ""
        yield f"made for contexts of {found['max_context']:,} tokens{less}"


def _weights(on: Mapping[str, Any]) -> str:
    """Write what weights take of each GPU; more where each has the whole attention."""
    if not on["tensor"]["weight_bytes_each"]:
        return "weights are left out, their number is not known (--parameters)"
    about = "about " if on["parameters_rounded"] else ""
    each = (size(on[way]["weight_bytes_each"]) for way in ("tensor", "data"))
    split, whole = (f"{about}{n_bytes}" for n_bytes in each)
    said = f"weights in {on['weights']} take {split} of each"
    said = said if split == whole else f"{said}, with whole sequences {whole}"
    return f"{said}; {ROUNDED}" if about else said


def _longest(one: Mapping[str, Any], memory: int) -> str:
    longest = one[LONGEST if one["weight_bytes_each"] else BEFORE_WEIGHTS]
    if longest is None:
        return "without bound"
    if (one["weight_bytes_each"] or 0) > memory:
        return "none, the weights do not fit"
    return f"{longest:,}"


def _too_large(on: Mapping[str, Any]) -> str:
    """Say what would help where the weights do not fit."""
    split, memory = on["tensor"]["weight_bytes_each"], on["memory_bytes"]
    bits = float(TYPES[on["weights"]].bits_with_scales)
    each = {name: split * TYPES[name].bits / bits for name in ("fp8", "fp4")}
    about = "about " if on["parameters_rounded"] else ""
    fits = {name: f"{about}{size(n)}" for name, n in each.items() if n < memory}
    tries = [f"--weights {name} ({n_bytes} of each)" for name, n_bytes in fits.items()]
    step = on["pipeline"] * on["context_parallel"]
    fewest = step * (int(split * on["count"] // memory // step) + 1)
    return f"try {' or '.join((*tries, f'--gpus {fewest} or more'))}"


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def size(n_bytes: float) -> str:
    """Return the bytes to be read, in the largest unit that they reach."""
    unit = next((one for one in UNITS if n_bytes >= one[0]), None)
    return f"{n_bytes / unit[0]:.4g} {unit[1]}" if unit else f"{n_bytes:g} bytes"
