"""A statement, its verdict and the evidence, and how evidence becomes a verdict."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

MILLION = 10**6
VERDICTS = ("holds", "fails", "imprecise", "depends", "not decidable")


@dataclass(frozen=True)
class Figure:
    """One computed number of the evidence; `unit` is empty where it is a pure number or a word."""

    name: str
    value: float | int | str
    unit: str = ""


@dataclass(frozen=True)
class Verdict:
    """One of VERDICTS, and the figures that it follows from."""

    verdict: str
    evidence: tuple[Figure, ...]

    def value(self, name: str) -> float | int | str:
        """Return the figure of this name.

        Raises:
            KeyError: the evidence has no such figure.
        """
        return {figure.name: figure.value for figure in self.evidence}[name]


Check = Callable[..., Verdict]


@dataclass(frozen=True)
class Claim:
    """A statement of a source, in our own words.

    Attributes:
        id: letter and number; the letter stands for the source.
        source: what kind of document states it.
        statement: what it states.
        method: how it is checked.
        sentence: what the evidence says, with the names of the figures as fields of str.format.
    """

    id: str
    source: str
    statement: str
    method: str
    sentence: str

    def explain(self, verdict: Verdict) -> str:
        """Return the sentence with the figures of this verdict in it."""
        return self.sentence.format(**{f.name: f.value for f in verdict.evidence})


def judge(*as_stated: bool, in_part: bool = False, decidable: bool = True) -> str:
    """Return the verdict that these findings add up to.

    Args:
        as_stated: whether the statement is true as it stands, in each case that it speaks of.
        in_part: whether a narrower reading is true: a part of it, or a simpler model.
        decidable: whether the computation tells true from false at all.

    Returns:
        "holds" if true in every case, "depends" if in some of several, "imprecise" if in none and
        the narrower reading is true, else "fails".
    """
    if not decidable:
        return "not decidable"
    if all(as_stated):
        return "holds"
    if any(as_stated):
        return "depends"
    return "imprecise" if in_part else "fails"


def listed(values: object) -> str:
    """Join numbers or names in one figure: 1, 2, 3."""
    return ", ".join(map(str, values))


def load() -> MappingProxyType[str, Claim]:
    """Return the statements by id, as data/claims.toml has them."""
    text = files("mla_engine").joinpath("data/claims.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    sources = data.pop("sources")
    claims = (Claim(id=key, **row | {"source": sources[key[0]]}) for key, row in data.items())
    return MappingProxyType({claim.id: claim for claim in claims})
