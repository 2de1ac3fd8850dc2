"""The tensors of a run that the scene shows, each with what it reads, its lane and its stage."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from mla_engine import SYMBOLS
from mla_engine.symbols import sources

CONTENT, ROTARY_QUERY, ROTARY, INDEX, LATENT, KEY, VALUE = range(7)  # the lanes, from top to bottom
INPUT, LATENTS, HEADS, MOVED, ATTENTION, LAST = 0, 1, 2, 3, 4, 7  # the stages
STAGES = LAST + 1

PREPARING = ("_pre", "_normed", "_conv", "_turned")
# What also only prepares another tensor: what goes into entries and gates, parts of a write.
MAKING = {"c_E", "c_IE", "c_A", "c_G", "erased", "written"}
POOLED = {"k_I": "k_E"}  # what does so where there is another, that of a block of tokens
SCORES = {"attention", "a", "b"}  # that have a block; all others are within one
ASIDE = {"members", "gate"}  # are not read through: a table of places, and a factor that is written
OF_ATTENTION = {"attention_E": "attention", "sink_mass": "attention"}  # parts of one softmax
BOUNDED = {"kv_T", "S"}  # are kept, but no more of them the longer the text
PLACES = {  # stage and lane of what has no counterpart in MHA or MLA
    "kv_E": (LATENTS, KEY),
    "a": (HEADS, ROTARY_QUERY),
    "b": (HEADS, ROTARY),
    "S": (ATTENTION, KEY),
}

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Tensor:
    """One tensor of the scene: what it reads, its place, and how many tokens an entry pools."""

    code: str
    shape: tuple[int, ...]
    reads: tuple[str, ...]
    stage: int
    lane: int
    tokens: int
    pooled: int = 0

    @property
    def numbers(self) -> float:
        """The numbers it holds; of entries the share of these tokens, full or not."""
        if self.pooled:
            return self.tokens * self.shape[-1] / self.pooled
        return prod(self.shape)

    @property
    def sheets(self) -> int:
        """Its heads or KV heads; 1 if it has none."""
        axes = SYMBOLS[self.code].axes.split()
        return next((n for n, axis in zip(self.shape, axes, strict=True) if axis in "hg"), 1)

    @property
    def cached(self) -> float:
        """The numbers that are cached of each further token."""
        grows = SYMBOLS[self.code].cached and self.code not in BOUNDED
        return self.numbers / self.tokens if grows else 0


def tensors(form: str, shapes: Shapes) -> list[Tensor]:
    """Return the tensors that are shown of a run, in the order of computation.

    What only prepares another one (before a norm or a rotation, and the scores before the softmax)
    is left out, and what reads it is taken to read what it was made from.

    Args:
        form: "expanded", "absorbed", "grouped", ..., as SYMBOLS names it.
        shapes: of every step of the trace.
    """
    reads = {code: _inputs(code, form, shapes) for code in shapes if shown(code, shapes)}
    places: dict[str, tuple[int, int]] = {}
    for code, inputs in reads.items():
        stage = _stage(code, [places[name][0] for name in inputs])
        places[code] = PLACES.get(code) or (stage, _lane(code, stage))
    late = _late(reads, places)
    return [
        Tensor(
            code,
            _shape(code, shapes),
            reads[code],
            late.get(code, stage),
            lane,
            shapes["h"][1],
            _pooled(code, shapes),
        )
        for code, (stage, lane) in places.items()
    ]


def _shape(code: str, shapes: Shapes) -> tuple[int, ...]:
    """Return its shape; of attention with columns for entries and sink beside the tokens'."""
    *rows, columns = shapes[code]
    if code == "attention" and "sink_mass" in shapes:
        entries = shapes["attention_E"][-1] if "attention_E" in shapes else 0
        columns += entries + 1
    return (*rows, columns)


def _pooled(code: str, shapes: Shapes) -> int:
    """Return for how many tokens an entry, or a block's index key, stands; 0 of other tensors."""
    if "i" not in SYMBOLS[code].axes.split()[1:2]:
        return 0
    of_tokens = (at[2] for name, at in shapes.items() if SYMBOLS[name].axes.split()[2:3] == ["a"])
    series = next(of_tokens)  # into so many entries a token goes
    return shapes["members"][1] // series


def _late(
    reads: Mapping[str, tuple[str, ...]], places: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    """Return the stages of what comes behind the attention: as near to the end as can be."""
    found: dict[str, int] = {}
    for code in reversed(places):
        if places[code][0] > ATTENTION:
            found.setdefault(code, LAST)
            for name in reads[code]:
                if places[name][0] > ATTENTION:
                    found[name] = min(found.get(name, LAST), found[code] - 1)
    return found


def shown(code: str, shapes: Collection[str]) -> bool:
    """Tell whether it has a block of its own among all that there are."""
    scored = SYMBOLS[code].role == "score" and code not in SCORES
    making = code in MAKING or POOLED.get(code) in shapes
    return not (code.endswith(PREPARING) or making or scored or _ranks(code))


def _inputs(code: str, form: str, shapes: Shapes) -> tuple[str, ...]:
    """Return the codes with a block that it reads, each once."""
    return tuple(dict.fromkeys(_reads(code, form, shapes)))


def _reads(code: str, form: str, shapes: Shapes) -> Iterable[str]:
    for name in sources(code, form, shapes):
        source = OF_ATTENTION.get(name, name)
        if not (_ranks(source) or source in ASIDE):
            yield from (source,) if shown(source, shapes) else _reads(source, form, shapes)


def _ranks(code: str) -> bool:
    """Tell whether it is the query side of an indexer, for which its key stands."""
    return SYMBOLS[code].role == "query" and _has_heads(code, "j")


def _of_query(code: str) -> bool:
    return "q" in code.lower()


def _has_heads(code: str, kinds: str) -> bool:
    """Tell whether it has an axis of heads of these kinds, in einsum letters."""
    return not set(kinds).isdisjoint(SYMBOLS[code].axes.split())


def _stage(code: str, reads: list[int]) -> int:
    """Return its stage by what it reads; all that follows the attention is put off."""
    role, last = SYMBOLS[code].role, max(reads, default=-1)
    if last < INPUT:
        return INPUT
    if role == "score":
        return ATTENTION
    if last >= ATTENTION:
        return LAST
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
