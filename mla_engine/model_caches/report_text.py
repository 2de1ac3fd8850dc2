"""The figures of a cache as lines to be read."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from typing import Any

from mla_engine.devices import GPUS
from mla_engine.model_caches.report import BEFORE_WEIGHTS, LONGEST, number
from mla_engine.model_caches.storage import TYPES

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
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
ROWS = {  # growth of a part -> when a layer has a row of it
    "grows": "every {tokens:,} tokens",
    "window": "last {tokens:,} tokens",
    "buffer": "waiting to be pooled, fewer than {tokens:,}",
    "once": "whatever the length",
}
WAYS = {
    "tensor": "tensor parallel, heads split",
    "data": "data parallel, whole sequences",
}


def as_text(found: Mapping[str, Any]) -> str:
    """The figures as lines to be read."""
    return "\n".join((*_head(found), "", *_kinds(found), "", *_on_gpus(found)))


def _head(found: Mapping[str, Any]) -> Iterator[str]:
    kept = "as published" if found["kv"] == "published" else f"in {found['kv']}"
    yield f"{found['model']}: {found['layers']} layers, cache {kept}"
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
    yield f"{'layers':>6}  {'bytes a token':>13}  {'window, state':>13}  {'read a step':>11}  kind"
    for one in found["kinds"]:
        kind = " + ".join(KINDS[part] for part in one["kind"].split("+"))
        bounded = size(held) if (held := one["window_bytes"] + one["state_bytes"]) else "0"
        token, read = _count(one["stored_bytes_per_token"]), size(one["read_bytes_per_step"])
        yield f"{one['layers']:>6}  {token:>13}  {bounded:>13}  {read:>11}  {kind}"
        for rows, parts in groupby(one["parts"], _rows):
            listed = " + ".join(
                f"{part['part']} {part['numbers_per_row']:,} {part['type']}" for part in parts
            )
            yield f"{'':>8}{rows}: {listed}"


def _rows(part: Mapping[str, Any]) -> str:
    """When there is a row of a part, and how many are read where not all are."""
    rows = ROWS[part["growth"]].format(**part)
    rows = "each token" if rows == "every 1 tokens" else rows
    rows = rows if part["stored"] else f"of an earlier layer, {rows}"
    return f"{rows}, {part['most_rows_read']:,} rows read" if part["most_rows_read"] else rows


def _on_gpus(found: Mapping[str, Any]) -> Iterator[str]:
    """What each GPU holds, however the model is shared."""
    on, context = found["gpus"], found["context"]
    weights = on["tensor"]["weight_bytes_each"]
    yield f"{on['count']} x {GPUS[on['gpu']].name}, {size(on['memory_bytes'])} each; {_weights(on)}"
    title = "each holds at most" if on["count"] > 1 else "it holds"
    most = "longest context" if weights else "longest context before any weights"
    yield f"{title:<31} sequences  bytes a token  {f'at {context:,}':>13}  {most}"
    ways = WAYS if on["count"] > 1 else {"data": "all of it"}
    for way, words in ways.items():
        one = on[way]
        held, longest = size(one["stored_bytes_each"]), _longest(one, on["memory_bytes"])
        token = _count(number(Fraction(one["stored_bytes_per_token_each"]) / one["sequences_each"]))
        yield f"{words:<31} {one['sequences_each']:>9,}  {token:>13}  {held:>13}  {longest}"
    if weights and weights >= on["memory_bytes"]:
        yield _too_large(on)
    if found["max_context"]:
        less = ", fewer than asked for" if found["max_context"] < context else ""
        yield f"made for contexts of {found['max_context']:,} tokens{less}"


def _weights(on: Mapping[str, Any]) -> str:
    """What they take of each GPU; more where each has the whole attention."""
    if not on["tensor"]["weight_bytes_each"]:
        return "weights are left out, their number is not known (--parameters)"
    split, whole = (size(on[way]["weight_bytes_each"]) for way in ("tensor", "data"))
    said = f"weights in {on['weights']} take {split} of each"
    return said if split == whole else f"{said}, with whole sequences {whole}"


def _longest(one: Mapping[str, Any], memory: int) -> str:
    longest = one[LONGEST if one["weight_bytes_each"] else BEFORE_WEIGHTS]
    if longest is None:
        return "without bound"
    if (one["weight_bytes_each"] or 0) > memory:
        return "none, the weights do not fit"
    return f"{longest:,}"


def _too_large(on: Mapping[str, Any]) -> str:
    """What would help where the weights do not fit."""
    split, memory = on["tensor"]["weight_bytes_each"], on["memory_bytes"]
    bits = TYPES[on["weights"]].bits
    each = {name: split * TYPES[name].bits / bits for name in ("fp8", "fp4")}
    tries = [f"--weights {name} ({size(n)} of each)" for name, n in each.items() if n < memory]
    most = int(split * on["count"] // memory) + 1
    return f"try {' or '.join((*tries, f'--gpus {most} or more'))}"


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def size(n_bytes: float) -> str:
    """Bytes to be read, in the largest unit that they reach."""
    unit = next((one for one in UNITS if n_bytes >= one[0]), None)
    return f"{n_bytes / unit[0]:.4g} {unit[1]}" if unit else f"{n_bytes:g} bytes"
