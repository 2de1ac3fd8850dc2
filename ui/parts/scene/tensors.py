"""The tensors of a run that the scene shows, each with what it reads, its lane and its stage."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from mla_engine import SYMBOLS
from mla_engine.symbols import sources

CONTENT, ROTARY_QUERY, ROTARY, INDEX, LATENT, KEY, VALUE = range(7)  # the lanes, from top to bottom
INPUT, LATENTS, HEADS, MOVED, ATTENTION, POOLED, OUTPUT, LAST = range(8)  # the stages
STAGES = LAST + 1

PREPARING = ("_pre", "_normed")

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Tensor:
    """One tensor of the scene: what it reads, and its place."""

    code: str
    shape: tuple[int, ...]
    reads: tuple[str, ...]
    stage: int
    lane: int

    @property
    def numbers(self) -> int:
        """How many it holds."""
        return prod(self.shape)

    @property
    def sheets(self) -> int:
        """Its heads or KV heads; 1 if it has none."""
        axes = SYMBOLS[self.code].axes.split()
        return next((n for n, axis in zip(self.shape, axes, strict=True) if axis in "hg"), 1)

    @property
    def kept(self) -> float:
        """How many are cached of one token."""
        return self.numbers / self.shape[1] if SYMBOLS[self.code].cached else 0


def tensors(form: str, shapes: Shapes) -> list[Tensor]:
    """The tensors that are shown of a run, in the order of computation.

    What only prepares another one (before a norm or a rotation, and the scores before the softmax)
    is left out, and what reads it is taken to read what it was made from.

    Args:
        form: "expanded", "absorbed", "grouped", ..., as SYMBOLS names it.
        shapes: of every step of the trace.
    """
    found: dict[str, Tensor] = {}
    for code, shape in shapes.items():
        if shown(code):
            reads = tuple(_reads(code, form, shapes))
            stage = _stage(code, [found[name] for name in reads])
            found[code] = Tensor(code, shape, reads, stage, _lane(code, stage))
    return list(found.values())


def shown(code: str) -> bool:
    """Whether it has a block of its own."""
    scored = SYMBOLS[code].role == "score" and code != "attention"
    return not (code.endswith(PREPARING) or scored or _ranks(code))


def _reads(code: str, form: str, shapes: Shapes) -> Iterable[str]:
    for name in sources(code, form, shapes):
        if not _ranks(name):
            yield from (name,) if shown(name) else _reads(name, form, shapes)


def _ranks(code: str) -> bool:
    """Whether it is the query side of an indexer, which only ranks keys: its key stands for it."""
    return SYMBOLS[code].role == "query" and _has_heads(code, "j")


def _of_query(code: str) -> bool:
    return "q" in code.lower()


def _has_heads(code: str, kinds: str) -> bool:
    """Whether it has an axis of heads of these kinds, in einsum letters."""
    return not set(kinds).isdisjoint(SYMBOLS[code].axes.split())


def _stage(code: str, reads: list[Tensor]) -> int:
    role, last = SYMBOLS[code].role, max((tensor.stage for tensor in reads), default=-1)
    if last < INPUT:
        return INPUT
    if role == "score":
        return ATTENTION
    if last >= ATTENTION:
        return POOLED if role == "latent" else OUTPUT if last < OUTPUT else LAST
    shared = role == "key" and not _has_heads(code, "hg")  # as a latent is, by all heads
    if (role in ("key", "value") and not shared) or (_of_query(code) and role != "latent"):
        return MOVED if _of_query(code) and last == HEADS else HEADS
    return LATENTS


def _lane(code: str, stage: int) -> int:
    role = SYMBOLS[code].role
    if role == "rope":
        return ROTARY_QUERY if _of_query(code) else ROTARY
    if role == "latent" and stage == LATENTS and not _of_query(code):
        return LATENT
    if role == "key" and stage == LATENTS:
        return INDEX
    return {"key": KEY, "value": VALUE}.get(role, CONTENT)
