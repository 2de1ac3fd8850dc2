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
from kvcount.drawn import hides, turns
from mla_engine import PRESETS, mechanisms
from mla_engine.config import AttentionConfig
from ui.sources import Checkpoint, Source, Trained, trained
from ui.sources.layers import form_of
from ui.sources.model import Model
from ui.words.text import t

WIDTH = 88
FOLDER = Path(__file__).parent / "snippets"
CALLED = "forward"  # what a layer does where it is called itself
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
    "mla_engine.language_model.text_heads": {"repeat_scores", "scores"},
    "mla_engine.language_model.one_cache": {"OneCache"},
    "mla_engine.language_model.questions": {"Questions"},
    "mla_engine.language_model.reading": {"read"},
    "mla_engine.language_model.real": {"load_real"},
    "mla_engine.language_model.retrofit": {"Retrofit"},
    "mla_engine.language_model.sparse": {"RULES", "Sparse", "answered"},
    "mla_engine.language_model.study": {"Spread", "differ"},
    "kvcount": {"MODELS", "Placing", "Plan", "Storage", "storage"},
    "kvcount.levers": {"levers"},
    "kvcount.sources": {"find"},
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
    """Return a template, filled."""
    text = Template(template.read_text("utf-8"))
    return Code(text.substitute({n: literal(v) for n, v in values.items()}).rstrip())


def filled(template: Path, values: Mapping[str, object]) -> str:
    """Return the whole snippet: a template, below the imports that it needs."""
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
    """Return a configuration: a published model's, of `preset` before others, or written out."""
    for key in sorted(PRESETS, key=lambda key: key != preset):
        if PRESETS[key].config == value:
            return Code(f"PRESETS[{literal(key)}].config")
    return call(value)


def kinds(value: Kinds, preset: str = "") -> Code:
    """Return kinds of attention with their numbers: a published model's, or written out."""
    if value and preset in PRESETS and PRESETS[preset].kinds == value:
        return Code(f"PRESETS[{literal(preset)}].kinds")
    return listed(tuple(Code(f"({config(one, preset)}, {n})") for one, n in value))


def counted(value: Kinds, preset: str = "") -> Code:
    """Return what layers of these kinds keep: a published model's, or counted by its kinds."""
    if preset in PRESETS and PRESETS[preset].kinds == value:
        return Code(f"PRESETS[{literal(preset)}].model")
    return _wrapped("costs.model", [kinds(value, preset)])


def call(value: object) -> Code:
    """Return the call that makes a dataclass: what differs from its defaults, in lines of WIDTH."""
    return _wrapped(type(value).__name__, _given(value))


def listed(values: tuple[object, ...]) -> Code:
    """Return a tuple in lines of WIDTH."""
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


def notebook(*snippets: str) -> str:
    """Return a notebook with a cell of each snippet, as JSON."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells = [cell | {"source": code.splitlines(keepends=True)} for code in snippets]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def layer(of: AttentionConfig, preset: str, form: str = "") -> dict[str, Code]:
    """Return how a template builds a layer and calls it; the model `preset` is named first."""
    kind = mechanisms.of(of).layer.__name__
    called = form_of(of, form).forward.__name__ if form else CALLED
    call = "" if called == CALLED else f".{called}"
    return {"config": config(of, preset), "layer": Code(kind), "call": Code(call)}


def made(
    chosen: Model, of: AttentionConfig, heads: object, words: str = "", source: Source | None = None
) -> dict[str, Code]:
    """Return the lines that make a layer of these heads, and its input: seeded, trained or real.

    Args:
        chosen: what the shared settings choose.
        of: the layer's configuration.
        heads: the numbers of the heads, or code that makes them.
        words: the expression of a text of the page's own; without one it is the example.
        source: of the weights, by default what `chosen` has for this configuration; where a real
            model is chosen, seeded weights read its inputs too.
    """
    source, loaded = source or chosen.source_of(of), chosen.checkpoint
    example = f"words_of({literal(t('maps.example'))})"
    values = layer(of, chosen.preset) | {"heads": heads, "words": Code(words or example)}
    if isinstance(source, Trained):
        return _trained(source, chosen, values)
    values |= {"seed": chosen.drawn.seed} | (_named(loaded) if loaded else {})
    weights = _part("weights_real" if isinstance(source, Checkpoint) else "weights_seeded", values)
    if not loaded:
        return {"weights": weights, "inputs": _part("inputs_seeded", values)}
    return {
        "weights": Code(f"{_part('opened', values)}\n{weights}"),
        "inputs": _part("inputs_real", values),
    }


def _trained(source: Trained, chosen: Model, values: dict[str, object]) -> dict[str, Code]:
    """Return the lines that load a trained model by the project's path and run a sentence."""
    file = f"{trained.NAMED}/{trained.file(source.code).name}"
    values |= {"file": file, "number": source.layer, "sentence": " ".join(chosen.words)}
    parts = ("weights", "inputs")
    return {name: _part(f"{name}_trained", values) for name in parts}


def _named(loaded: Checkpoint) -> dict[str, object]:
    """Return the templates' values of a real model."""
    revision, file = loaded.revision, loaded.activations
    return {
        "location": loaded.location,
        "revision": Code(f", {literal(revision)}" if revision else ""),
        "number": loaded.layer,
        "text": loaded.text,
        "file": Code(f", activations={literal(file)}" if file else ""),
    }


def read_config(loaded: Checkpoint) -> Code:
    """Return the configuration of a real layer, as a snippet finds it."""
    values = _named(loaded)
    revision = Code(f", revision={literal(loaded.revision)}" if loaded.revision else "")
    return _part("config_real", values | {"revision": revision})


def _part(name: str, values: dict[str, object]) -> Code:
    return part(FOLDER / f"{name}.py.txt", values)
