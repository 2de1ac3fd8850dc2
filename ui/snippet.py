"""Snippets for a notebook: templates of ui/snippets, filled with a page's present settings.

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

FOLDER = Path(__file__).parent / "snippets"
WIDTH = 88
EXPORTED = {*mla_engine.__all__, "conventions", "costs", "relative"}


class Code(str):
    """An expression or statement of our own, which stands in a snippet as it is."""


def filled(template: str, values: Mapping[str, object]) -> str:
    """The snippet of this name; `$engine` becomes the names that it needs of mla_engine."""
    text = Template((FOLDER / f"{template}.py.txt").read_text("utf-8"))
    written = {name: literal(value) for name, value in values.items()}
    body = ast.parse(text.substitute(written, engine="*"))
    used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)} & EXPORTED
    names = sorted(used, key=lambda name: (not name.isupper(), name.islower(), name))
    return text.substitute(written, engine=_imported(names))


def literal(value: object) -> str:
    """What stands for a value: its repr(), in double quotes where that changes nothing else."""
    if isinstance(value, Code):
        return value
    text = repr(value)
    plain = isinstance(value, str) and not {"'", '"'} & set(value)
    return f'"{text[1:-1]}"' if plain else text


def config(value: object, preset: str = "") -> Code:
    """A configuration: that of a published model, `preset` before others, or written out."""
    for key in sorted(PRESETS, key=lambda key: key != preset):
        if PRESETS[key].config == value:
            return Code(f"PRESETS[{literal(key)}].config")
    return call(value)


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


def _imported(names: list[str]) -> str:
    line = ", ".join(names)
    return line if len(line) < WIDTH - len("from mla_engine import ") else _wrapped("", names, 0)


def _wrapped(name: str, parts: list[str], width: int = WIDTH) -> Code:
    line = f"{name}({', '.join(parts)})"
    if len(line) <= width:
        return Code(line)
    marks = ", ".join(part.replace(" ", "\0") for part in parts)  # broken between parts alone
    lines = wrap(marks, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    inside = indent("\n".join(lines).replace("\0", " "), "    ")
    return Code(f"{name}(\n{inside},\n)")


def notebook(code: str) -> str:
    """A notebook of one cell, as JSON."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cell["source"] = code.splitlines(keepends=True)
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
