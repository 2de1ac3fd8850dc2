"""The closed forms that a mechanism declares: what it stores, computes, reads and writes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from kvcount.counting import number
from kvcount.parts import Layer, Part
from mla_engine.config import AttentionConfig

Heads = tuple[int, ...]
Shapes = dict[str, tuple[int, ...]]
"""Trace field -> sizes of the product that makes it, contracted ones included."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sequences; tokens of each that are queries, that enter the cache, that are keys."""

    batch: int
    queries: int
    new: int
    keys: int


@dataclass(frozen=True)
class Formula:
    """One way of counting the numbers that are cached per token and layer.

    Attributes:
        code: what names it.
        written: LaTeX, in the paper's letters; d is the width of the model, g its KV heads.
        short: the same in Plotly's text.
        source: who used or replaced it.
        numbers: the count for a configuration.
        right: the right count.
        named: what it is called, by language, where it was published for whole models.
        forgets: what it leaves out, by language, where it was published for whole models.
        model: at which it was published, where it was for whole models.
    """

    code: str
    written: str
    short: str
    source: str
    numbers: Callable[[AttentionConfig], float]
    right: Callable[[AttentionConfig], float]
    named: Mapping[str, str] = field(default_factory=dict)
    forgets: Mapping[str, str] = field(default_factory=dict)
    model: str = ""

    def off(self, config: AttentionConfig) -> float:
        """Return its count over the right one: 1 is right, below 1 too little."""
        counted, right = self.numbers(config), self.right(config)
        if not right:
            return math.inf if counted else 1
        return counted / right


@dataclass(frozen=True)
class KeptPart:
    """A part of what a sequence keeps where not every token adds the same to it.

    Attributes:
        code: "window", "entries", "latents", "blocks", "waiting", "state" or "tails".
        spans: the tokens that each of its pieces stands for, the first and one beyond the last.
        n_bytes: of all of them.
    """

    code: str
    spans: tuple[tuple[int, int], ...]
    n_bytes: float


class Amount(NamedTuple):
    """Numbers that are kept, and the bytes that they take: a state is wider than other numbers."""

    numbers: float
    n_bytes: float


STATE_BYTES = 4  # of a number of a state, at least: it is kept in float32
ROWS = {"entry": "entries", "buffer": "waiting", "conv": "tails"}  # what else rows are called


def per_token(layer: Layer) -> float:
    """Count the numbers of a token, also in a window; but not in one that stands beside entries."""
    grown = [part for part in layer.parts if part.growth == "grows"]
    windows = [part for part in layer.parts if part.growth == "window" and not _pools(layer)]
    numbers = sum(Fraction(part.numbers, part.length) for part in grown)
    return number(numbers + sum(part.numbers for part in windows))


def held(layer: Layer, tokens: int, dtype_bytes: float) -> float:
    """Return the bytes of a sequence of so many tokens."""
    return sum(
        part.rows(tokens) * part.numbers * width(part, dtype_bytes)
        for part in layer.parts
        if part.stored
    )


def fixed(layer: Layer, dtype_bytes: float) -> float:
    """Return the bytes beyond those of each token: the most, before the last token of a block."""
    grown = (part.length for part in layer.parts if part.growth == "grows")
    windows = [part.length for part in layer.parts if part.growth == "window"] * _pools(layer)
    block = math.lcm(*grown)
    tokens = block * max((1, *windows)) + block - 1
    return max(0, held(layer, tokens, dtype_bytes) - tokens * per_token(layer) * dtype_bytes)


def rows(layer: Layer, tokens: int, stored: float | Callable[[Part], float]) -> dict[str, Amount]:
    """Return what a sequence of so many tokens keeps, by the kind of row.

    Args:
        layer: whose.
        tokens: of the sequence.
        stored: bytes of a number, or part -> bytes of one of its rows.
    """
    found: dict[str, Amount] = {}
    for part in layer.parts:
        kind, n_rows = _row(layer, part), part.rows(tokens)
        numbers, n_bytes = found.get(kind, Amount(0, 0))
        each = stored(part) if callable(stored) else part.numbers * width(part, stored)
        found[kind] = Amount(numbers + n_rows * part.numbers, n_bytes + n_rows * each)
    return found


def width(part: Part, dtype_bytes: float) -> float:
    """Return the bytes of a number: of a state, at least STATE_BYTES."""
    return max(STATE_BYTES, dtype_bytes) if part.name == "state" else dtype_bytes


def _row(layer: Layer, part: Part) -> str:
    if _pools(layer) and part.name in ("entry", "rope"):
        return "window" if part.growth == "window" else "entries"
    return ROWS.get(part.name, part.name)


def _pools(layer: Layer) -> bool:
    """Tell if its rows are vectors, of tokens in a window and of entries."""
    return any(part.name == "entry" for part in layer.parts)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The closed forms of a mechanism; heads are global numbers, caches go by their kind.

    Attributes:
        weights: (config, heads) -> elements of each parameter.
        kept: (config, cache, heads) -> the parts of its cache, of which all else follows that is
            counted of what is kept.
        written: config -> how the numbers of its own cache come about, as arithmetic.
        products: (config, form, cache, heads, sizes) -> the matrix products of a call.
        kv_heads: (config, heads) -> the KV heads that these use, where each has not its own.
        up_projected: (config, form, cache, heads, sizes) -> numbers of keys and values that a call
            makes of a sequence's latents.
        parts: (config, tokens, bytes of a number) -> what a sequence of so many tokens keeps, where
            a token does not just add its own.
        steady: config -> tokens from which on the work changes by as much with each so many more.
        with_every_key: config -> the same with every key attended to: a run of the layer computes
            all and masks, where a kernel leaves out what is not chosen.
        of_latents: parameters that a call does not use where `latents` are handed in.
        formulas: how calculators count its cache, the right way first.
        mistakes: keys of kvcount/data/mistakes.toml, for those published for whole models.
        layouts: config -> numbers per token of every way to lay out the cache, by part; the last
            one is what the layer is meant to keep.
    """

    weights: Callable[[AttentionConfig, Heads], dict[str, int]]
    kept: Callable[[AttentionConfig, str, Heads], Layer]
    written: Callable[[AttentionConfig], str]
    products: Callable[[AttentionConfig, str, str, Heads, Sizes], Shapes]
    kv_heads: Callable[[AttentionConfig, Heads], Heads] = lambda _config, heads: tuple(heads)
    up_projected: Callable[[AttentionConfig, str, str, Heads, Sizes], int] = lambda *_: 0
    parts: Callable[[AttentionConfig, int, float], tuple[KeptPart, ...]] | None = None
    steady: Callable[[AttentionConfig], tuple[int, int]] = lambda _config: (1, 1)
    with_every_key: Callable[[AttentionConfig], AttentionConfig] = lambda config: config
    of_latents: tuple[str, ...] = ()
    formulas: tuple[Formula, ...] = ()
    mistakes: tuple[str, ...] = ()
    layouts: Callable[[AttentionConfig], dict[str, dict[str, float]]] | None = None
