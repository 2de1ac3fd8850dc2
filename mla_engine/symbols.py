"""SYMBOLS, the one glossary: every weight and every trace field, as data that tests check.

Its rows are in data/symbols.toml and in each mechanism's symbols.toml. Where the paper
(DeepSeek-V2, arXiv 2405.04434) has superscripts the code has a suffix after one underscore: c^KV
is c_KV. Our l, the width of c_Q, is the paper's d_c'; our r is its d_h^R.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kvcount.refusals import RefusedError
from mla_engine import mechanisms

SIZES = {
    "d": "d_model",
    "h": "n_heads",
    "g": "n_kv_heads",
    "k": "d_head",
    "r": "d_rope",
    "v": "d_value",
    "c": "d_latent_kv",
    "l": "d_latent_q",
} | {letter: name for one in mechanisms.all() for letter, name in one.letters.items()}
"""The size in a configuration that an axis letter stands for; b, t and s come from the call."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """The computation of a tensor in one form.

    `formula` is LaTeX; `inputs` are codes, weights first; `einsum`, where the step is a contraction
    of its first two inputs, says which (biases, scales and the causal mask left out).
    """

    formula: str = ""
    inputs: tuple[str, ...] = ()
    einsum: str | None = None


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A tensor: its names, axes and origin.

    `steps` holds how it arises by form: "expanded", "absorbed", "grouped", ... `role` picks its
    colour: input, query, key, value, latent, rope, score, output or weight. `instead` is the tensor
    that stands in its place where a configuration has none. `alias` is the name in checkpoints,
    `deepseek` that in inference/model.py of DeepSeek-V3, of an indexer in that of V3.2-Exp.
    """

    code: str
    latex: str
    axes: str
    meaning: str
    role: str
    alias: str = ""
    deepseek: str = ""
    cached: bool = False
    instead: str | None = None
    steps: dict[str, Step] = field(default_factory=dict)

    def step(self, form: str | None = None, *, sinks: bool = False) -> Step:
        """Return its computation in this form; weights and h have none.

        Args:
            form: by default the first that has one.
            sinks: whether heads have a sink, with which some tensors arise otherwise.
        """
        own = self.steps.get(f"{form} with sinks") if sinks else None
        return own or self.steps.get(form) or next(iter(self.steps.values()), Step())

    @property
    def formula(self) -> str:
        """LaTeX of the first form that has it."""
        return self.step().formula

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of its computation in the first form that has it."""
        return self.step().inputs


def _steps(rows: Iterable[dict[str, Any]]) -> dict[str, Step]:
    steps = {}
    for row in rows:
        forms, inputs = row.pop("forms"), tuple(row.pop("inputs"))
        steps |= dict.fromkeys(forms, Step(inputs=inputs, **row))
    return steps


def _load() -> dict[str, Symbol]:
    """Read the shared rows, then each mechanism's, which may add steps to a code."""
    found = {}
    for file, code, row in mechanisms.rows("symbols.toml"):
        steps = _steps(row.pop("steps", ()))
        if code not in found:
            found[code] = Symbol(code=code, steps=steps, **row)
        elif row or steps.keys() & found[code].steps.keys():
            raise RefusedError("symbol_twice", file=file, code=code)
        else:
            found[code].steps.update(steps)
    for form in (form for mechanism in mechanisms.all() for form in mechanism.forms):
        if (other := form.trace.as_in) is not None:
            _take_over(found.values(), form.symbols, other.form)
    return found


def _take_over(symbols: Iterable[Symbol], form: str, other: str) -> None:
    """Let the row of the other form hold where none is of `form`."""
    for symbol in symbols:
        if other in symbol.steps:
            symbol.steps.setdefault(form, symbol.steps[other])


SYMBOLS = MappingProxyType(_load())
"""Code name -> Symbol, for every parameter and every trace field."""


def sources(code: str, form: str, present: Collection[str]) -> tuple[str, ...]:
    """Return the tensors among `present` (the steps of a trace) that `code` was computed from.

    Weights are left out; what a configuration has not is replaced by what stands in its place.
    """
    found = []
    for name in SYMBOLS[code].step(form).inputs:
        stand_in = name if name in present else SYMBOLS[name].instead
        if stand_in in present:
            found.append(stand_in)
    return tuple(found)
