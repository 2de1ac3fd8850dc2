"""The terms between the bytes of a token and what an engine says of it, counted from the model."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from kvcount.dtypes import Storage
from kvcount.logs.blocks import (
    CSA,
    FULL,
    HCA,
    STATE,
    WINDOW,
    Pool,
    by_sequences,
    of_kind,
    row_bytes,
)
from kvcount.logs.engine_log import Logged
from kvcount.parts import Model

KINDS = {  # name of a part -> the line that counts it
    "latent": "latents", "rope": "latents", "index": "index", "key": "pairs", "value": "pairs",
    "entry": "entries",
}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """A line: its key in terms.toml, bytes of a token, and the values that its words name."""

    key: str
    n_bytes: Fraction
    values: Mapping[str, object] = field(default_factory=dict)


def counted(model: Model, storage: Storage, ranks: int = 1) -> list[Term]:
    """Return a term for each kind of row that every token adds, with its layers and bytes."""
    sums: dict[str, list[tuple[int, Fraction]]] = {}
    for layer, n in model.groups.items():
        of_layer: dict[str, Fraction] = {}
        pooled = any(part.name == "entry" for part in layer.parts)
        for part in layer.growing:
            key = "entries" if pooled and part.name == "rope" else KINDS[part.name]
            size = storage.row_bytes(layer.kind, part, ranks) * part.rows_per_token
            of_layer[key] = of_layer.get(key, Fraction(0)) + size
        for key, size in of_layer.items():
            sums.setdefault(key, []).append((n, size))
    return [
        Term(key, sum((n * size for n, size in each), Fraction(0)), _each(each))
        for key, each in sums.items()
    ]


def _each(sizes: list[tuple[int, Fraction]]) -> dict[str, object]:
    """Return how many layers there are, and the bytes of one, in the mean where they differ."""
    layers = sum(n for n, _ in sizes)
    return {"layers": layers, "each": sum(n * size for n, size in sizes) / layers}


def over_ranks(model: Model, storage: Storage, ranks: int) -> Iterator[Term]:
    """Return an even share for each rank, and what is copied beyond it, by kind of row."""
    if ranks == 1:
        return
    whole, kept = counted(model, storage), counted(model, storage, ranks)
    total = sum((term.n_bytes for term in whole), Fraction(0))
    yield Term("split", -total * (1 - Fraction(1, ranks)), {"ranks": ranks})
    for before, after in zip(whole, kept, strict=True):
        copied = after.n_bytes - before.n_bytes / ranks
        yield Term(f"{before.key}_copied", copied, {"ranks": ranks, "heads": _heads(model)})


def _heads(model: Model) -> int:
    """Return the KV heads of the layers that keep every token, the fewest."""
    return min((part.heads for layer in model.groups for part in layer.growing), default=1)


def windows(model: Model, storage: Storage, ranks: int) -> tuple[int, Fraction]:
    """Return how many layers have a window, and the bytes of a token in all of them."""
    with_window = [(layer, n) for layer, n in model.groups.items() if of_kind(layer) == WINDOW]
    sizes = (n * row_bytes(layer, storage, ranks) for layer, n in with_window)
    return sum(n for _, n in with_window), sum(sizes, Fraction(0))


def grouping(blocks: Pool, model: Model, storage: Storage, log: Logged) -> Iterator[Term]:
    """Return what vLLM's token count charges for layers that do not keep every token."""
    layers, of_windows = windows(model, storage, log.ranks)
    if len(blocks.groups) == 1:
        if layers:
            yield Term("windows_kept", of_windows / (log.context or 1), {"layers": layers})
        return
    if blocks.layout:
        yield from _pooled(blocks, model, storage, log)
        return
    states = sum(n for layer, n in model.groups.items() if of_kind(layer) == STATE)
    full = sum(n for layer, n in model.groups.items() if of_kind(layer) == FULL)
    counts = {FULL: full, WINDOW: layers, STATE: states}
    if by_sequences(log):
        yield from _spread(blocks, counts, log.length, log)
        added = blocks.groups[FULL] * blocks.layers - counts[FULL]
        each = blocks.page / (blocks.block * (log.context or 1))
        yield Term("padding", added * each, {"layers": added})
        return
    context = log.context or 1
    token = blocks.page / (blocks.least * context)
    groups = sum(blocks.groups.values())
    yield Term("wider", counts[FULL] * (token - blocks.page / (blocks.block * context)))
    for kind, key in ((STATE, "states_dealt"), (WINDOW, "windows_dealt")):
        yield Term(key, counts[kind] * token, {"layers": counts[kind], "groups": groups})
    yield Term("padding", blocks.padding * token, {"layers": blocks.padding})


SPREAD = {"states_spread": [STATE], "windows_spread": [WINDOW], "waiting": [CSA, HCA]}


def _spread(blocks: Pool, counts: Mapping[str, int], length: int, log: Logged) -> Iterator[Term]:
    """Return the same where the tokens are those of sequences of this length."""
    needs = blocks.needs(log, length)
    for key, kinds in SPREAD.items():
        if any(kind in needs for kind in kinds):
            taken, layers = (sum(of[kind] for kind in kinds) for of in (needs, counts))
            values = {"blocks": taken, "length": length, "layers": layers}
            yield Term(key, blocks.block_bytes * taken / length, values)
    full, dealt = blocks.groups[FULL], blocks.block * (log.context or 1)
    started = blocks.block_bytes * (Fraction(needs[FULL], length) - Fraction(full, dealt))
    yield Term("last_block", started, {"length": length, "block": blocks.block})


def _pooled(blocks: Pool, model: Model, storage: Storage, log: Logged) -> Iterator[Term]:
    """Return the same of DeepSeek-V4: its windows, what waits to be pooled, and room in blocks."""
    counts = Counter(layer.kind for layer in model.layers)
    counts[WINDOW] = len(model.layers)
    yield from _spread(blocks, counts, log.length or log.needed_tokens, log)
    rows = sum((term.n_bytes for term in counted(model, storage, log.ranks)), Fraction(0))
    dealt = blocks.block * (log.context or 1)
    values = {"block": blocks.block, "size": int(blocks.block_bytes)}
    yield Term("aligned", blocks.block_bytes / dealt - rows / (log.context or 1), values)
