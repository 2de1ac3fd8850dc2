"""Snippets for a notebook: templates, filled with what a page shows.

A value enters as its repr(), so that no text of a reader's becomes code.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from string import Template
from textwrap import indent, wrap

import mla_engine
from mla_engine import PRESETS
from mla_engine.config import AttentionConfig
from mla_engine.drawn import hides, turns

WIDTH = 88
STANDARD = {"collections": {"Counter"}, "dataclasses": {"replace"}}
ENGINE = {  # where what a snippet may use is to be imported from
    "mla_engine": {*mla_engine.__all__},
    "mla_engine.claims": {"CLAIMS", "check"},
    "mla_engine.costs": {"GPUS", "Serving", "cache_elements"},
    "mla_engine.delta.reading": {"memory", "value_weights"},
    "mla_engine.heads": {"with_heads"},
    "mla_engine.language_model": {"generate", "load_model"},
    "mla_engine.language_model.accuracy": {"by_task"},
    "mla_engine.language_model.cuts": {
        "TopKeys",
        "effect",
        "without_content",
        "without_heads",
        "without_minor_directions",
        "without_rotary_key",
    },
    "mla_engine.language_model.heads": {"head_scores"},
    "mla_engine.language_model.questions": {"Questions"},
    "mla_engine.language_model.retrofit": {"Retrofit"},
    "mla_engine.language_model.sparse": {"RULES", "Sparse", "answered"},
    "mla_engine.language_model.study": {"Spread", "differ"},
    "mla_engine.model_caches": {"MODELS", "Plan", "Storage", "storage"},
    "mla_engine.model_caches.levers": {"levers"},
    "mla_engine.model_caches.sources": {"find"},
    "mla_engine.pooled.reading": {"columns", "given"},
    "mla_engine.quiz": {"order", "question"},
    "mla_engine.rope": {"inverse_frequencies"},
    "mla_engine.studies": {
        "conventions",
        "generated_words",
        "hidden_states",
        "relative",
        "words_of",
    },
    "mla_engine.studies.agreement": {"relative_error"},
    "mla_engine.studies.bracketing": {"bracketings"},
    "mla_engine.studies.compression": {"joint", "loss", "with_spectrum"},
    "mla_engine.studies.logit_shares": {"logit_shares"},
    "mla_engine.studies.long_text": {"long_map", "rows"},
    "mla_engine.studies.merging": {"content_attention"},
    "mla_engine.worked_example": {"printed_count", "read", "steps"},
}


Kinds = tuple[tuple[AttentionConfig, int], ...]


class Code(str):
    """An expression or statement of our own, which stands in a snippet as it is."""


def part(template: Path, values: Mapping[str, object]) -> Code:
    """A template, filled."""
    text = Template(template.read_text("utf-8"))
    return Code(text.substitute({n: literal(v) for n, v in values.items()}).rstrip())


def filled(template: Path, values: Mapping[str, object]) -> str:
    """The whole snippet: a template, below the imports that it needs."""
    body = part(template, values)
    nodes = [node for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)]
    used = {node.id for node in nodes} - {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    torch = "import torch\n" if "torch" in used else ""
    blocks = (_imports(STANDARD, used), torch, _imports(ENGINE, used), f"{body}\n")
    return "\n".join(filter(None, blocks))


def _imports(homes: Mapping[str, set[str]], used: set[str]) -> str:
    lines = []
    for home in homes:
        names = sorted(used & homes[home], key=lambda n: (not n.isupper(), n.islower(), n))
        line = ", ".join(names)
        if len(line) > WIDTH - len(home):
            line = _wrapped("", names, 0)
        lines += [f"from {home} import {line}\n"] * bool(names)
    return "".join(lines)


def literal(value: object) -> str:
    """Return a value's repr(), in double quotes where that changes nothing else.

    What hides, or moves the code beside it, is escaped, so that a snippet runs as it is read.
    """
    if isinstance(value, Code):
        return value
    text = "".join(_escaped(c) if hides(c) or turns(c) else c for c in repr(value))
    plain = isinstance(value, str) and not {"'", '"'} & set(value)
    return f'"{text[1:-1]}"' if plain else text


def _escaped(character: str) -> str:
    return ascii(character)[1:-1]


def config(value: object, preset: str = "") -> Code:
    """A configuration: that of a published model, `preset` before others, or written out."""
    for key in sorted(PRESETS, key=lambda key: key != preset):
        if PRESETS[key].config == value:
            return Code(f"PRESETS[{literal(key)}].config")
    return call(value)


def kinds(value: Kinds, preset: str = "") -> Code:
    """Kinds of attention with their numbers: a published model's, all or beside the first."""
    if value and preset in PRESETS:
        own = {"kinds": PRESETS[preset].kinds, "beside": PRESETS[preset].beside}
        if name := next((n for n, one in own.items() if one == value), ""):
            return Code(f"PRESETS[{literal(preset)}].{name}")
    return listed(tuple(Code(f"({config(one, preset)}, {n})") for one, n in value))


def call(value: object) -> Code:
    """The call that makes a dataclass: what differs from its defaults, in lines of WIDTH."""
    return _wrapped(type(value).__name__, _given(value))


def listed(values: tuple[object, ...]) -> Code:
    """A tuple in lines of WIDTH."""
    single = [""] if len(values) == 1 else []
    return _wrapped("", [*map(literal, values), *single])


def _given(value: object) -> list[str]:
    return [
        f"{field.name}={_argument(getattr(value, field.name))}"
        for field in fields(value)
        if field.default is MISSING or getattr(value, field.name) != field.default
    ]


def _argument(value: object) -> str:
    if not is_dataclass(value):
        return literal(value)
    for key, preset in PRESETS.items():
        if value == preset.config.rope and value.scaling:  # rather than its long tables
            return f"PRESETS[{literal(key)}].config.rope"
    return f"{type(value).__name__}({', '.join(_given(value))})"


def _wrapped(name: str, parts: list[str], width: int = WIDTH) -> Code:
    line = f"{name}({', '.join(parts)})"
    if len(line) <= width:
        return Code(line)
    marks = ", ".join(part.replace(" ", "\0") for part in parts if part)  # broken between parts
    lines = wrap(marks, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    inside = indent("\n".join(lines).replace("\0", " "), "    ")
    return Code(f"{name}(\n{inside},\n)")


def notebook(code: str) -> str:
    """A notebook of one cell, as JSON."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cell["source"] = code.splitlines(keepends=True)
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
