"""The card of a block: values, formula, meaning, cost, and the page of its inside."""

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
from latex2mathml.converter import convert

from mla_engine import SYMBOLS
from mla_engine.figures import COLOURS
from mla_engine.symbols import Symbol
from ui.engine import shared_cache
from ui.parts.maps.run import Run
from ui.parts.scene.scene import HEAD, Scene
from ui.parts.scene.tensors import OF_ATTENTION, Tensor, shown
from ui.sources import Checkpoint
from ui.words.numbers import amount, count, prefixed_count, times
from ui.words.text import t, tensor

SHELF = "shelf"
ROWS = 8  # of a tensor's numbers
NEGATIVE, POSITIVE = COLOURS["query"], COLOURS["key"]
# The page that shows the inside of a tensor; of the others the maps show all numbers.
PAGES = {
    SHELF: "kv_cache",
    "c_KV": "compression",
    "q_C_absorbed": "absorption",
    "o_latent": "absorption",
}
MAPS = "attention_maps"
mathml = shared_cache.cached(convert)  # of one formula of LaTeX

Shapes = Mapping[str, tuple[int, ...]]


def inside(code: str) -> tuple[str, dict[str, str]]:
    """Return the page that shows a block's inside, and what its link says beside the settings."""
    page = "rope" if _rotates(code) else PAGES.get(code, MAPS)
    return page, {"map_tensor": code} if page == MAPS else {}


def _rotates(code: str) -> bool:
    return code in SYMBOLS and SYMBOLS[code].role == "rope"


def told(scene: Scene, one: Tensor) -> dict[str, str]:
    """Return the card of a tensor, line by line, as HTML of our own words."""
    size = t("scene.size", shape=_shape(one), numbers=amount(one.numbers))
    return {
        "meaning": html.escape(_meaning(scene, one)),
        "formula": _written(one.code, scene),
        "size": html.escape(size),
        "cost": _cost(scene, one.code),
        "kept": _kept(scene, one),
        "open": _way(one.code),
    }


def _meaning(scene: Scene, one: Tensor) -> str:
    """Return its meaning; of entries with their tokens, of attention with what shares its rows."""
    said = t(f"symbols.{one.code}")
    if one.pooled:
        said = t("scene.pools", meaning=said, tokens=count(one.pooled))
    if one.code == "attention" and "sink_mass" in scene.shapes:
        kind = "shares" if "kv_T" in scene.shapes else "shares_sink"
        said = t(f"scene.{kind}", meaning=said)
    return said


def _shape(one: Tensor) -> str:
    """Return its sizes but the batch; of entries one for every so many of the tokens."""
    first, *rest = map(count, one.shape[1:])
    return " × ".join((f"{count(one.tokens)}/{count(one.pooled)}" if one.pooled else first, *rest))


def _kept(scene: Scene, one: Tensor) -> str:
    """Return what stays of it in the cache."""
    if one.cached:
        return t("scene.cached", numbers=amount(one.cached))
    if one.code == "S":
        return t("scene.cached_state", numbers=count(one.numbers))
    if one.code == "kv_T":
        last = scene.config.window
        return t("scene.cached_window", tokens=count(last), width=count(one.shape[-1]))
    return t("scene.not_cached")


def told_of_shelf(scene: Scene) -> dict[str, str]:
    """Return the card of the cache."""
    cached = [one for one in scene.tensors if one.cached]
    parts = " + ".join(f"{tensor(one.code)} {amount(one.cached)}" for one in cached)
    fixed = count(scene.fixed)
    if not cached:
        return {
            "meaning": t("scene.shelf_state"),
            "size": t("scene.shelf_fixed", numbers=fixed),
            "kept": t("scene.shelf_as_mha", mha=count(scene.mha), tokens=count(scene.outgrown)),
            "open": _way(SHELF),
        }
    beside = "fixed" if "kv_T" in scene.shapes else "waiting"
    size = t("scene.shelf_size", parts=parts, numbers=amount(scene.cached))
    return {
        "meaning": t("scene.shelf_meaning"),
        "size": t(f"scene.shelf_and_{beside}", size=size, fixed=fixed) if scene.fixed else size,
        "kept": t("scene.shelf_ratio", mha=count(scene.mha), ratio=times(scene.mha / scene.cached)),
        "open": _way(SHELF),
    }


def _way(code: str) -> str:
    page, _ = inside(code)
    return t("scene.open", page=t(f"{page}.link"))


def _cost(scene: Scene, code: str) -> str:
    """Return the cost of making it and all that is made on the way to it."""
    parts = _made(code, scene.model.form, scene.shapes)
    made = sum(scene.multiply_adds.get(part, 0) for part in parts)
    if not made:
        return t("scene.given")
    tokens = len(scene.words)
    key = "scene.cost_one" if tokens == 1 else "scene.cost"
    return t(key, number=prefixed_count(made), tokens=tokens)


def _made(code: str, form: str, shapes: Shapes) -> list[str]:
    """Return a tensor's code and those without a block that it is made from."""
    hidden = [name for name in SYMBOLS[code].step(form).inputs if name in shapes]
    found = [code]
    for name in hidden:
        found += [] if shown(name, shapes) else _made(name, form, shapes)
    return found


def _written(code: str, scene: Scene) -> str:
    """Return its formula as MathML."""
    arises = formula(code, scene.model.form, scene.shapes)
    return mathml(f"{SYMBOLS[code].latex} = {arises}") if arises else ""


def formula(code: str, form: str, shapes: Shapes) -> str:
    """Return LaTeX of how a tensor arises from those that have a block.

    What has none is written out; what the configuration has not is left out or replaced.
    """
    step = SYMBOLS[code].step(form)
    text = step.formula
    for name in step.inputs:
        symbol = SYMBOLS[name]
        if symbol.role == "weight":
            continue
        if name not in shapes:
            instead = symbol.instead and SYMBOLS[symbol.instead].latex
            text = text.replace(symbol.latex, instead) if instead else _without(text, symbol.latex)
        elif not shown(name, shapes) and name not in OF_ATTENTION:
            text = text.replace(symbol.latex, _inside(text, symbol, formula(name, form, shapes)))
    return text


def _inside(text: str, symbol: Symbol, instead: str) -> str:
    """Return what replaces a symbol: a sum in brackets, unless it stands in some."""
    is_sum = symbol.role != "score" and (" + " in instead or " - " in instead)
    return f"({instead})" if is_sum and f"({symbol.latex})" not in text else instead


def _without(text: str, summand: str) -> str:
    return text.replace(f" + {summand}", "")


def cells(made: Run, code: str) -> dict[str, Any]:
    """Return the first of its numbers of one head: a row a number, a column a token or entry."""
    whole = _rows(made, code)
    if not whole.size:
        return {"cut": t("scene.no_entry" if made.sinks else "scene.no_block")}
    found = whole[:ROWS, :ROWS] if code == "S" else whole[:ROWS]
    real = isinstance(made.source, Checkpoint)
    values = {"shown": len(found), "all": len(whole)} | ({} if real else {"seed": made.source.seed})
    values |= {"columns": found.shape[1], "of": whole.shape[1]}
    return {
        "cells": [[float(f"{value:.3g}") for value in row] for row in found],
        "most": float(np.abs(found).max()) or 1.0,
        "signed": [NEGATIVE, POSITIVE],
        "cut": t(_cut(made, code, real), **values),
    }


def _rows(made: Run, code: str) -> np.ndarray:
    """Return [number, token] of one head; of attention with the entries' and sink's shares."""
    parts = [code, *(OF_ATTENTION if code == "attention" else ())]
    rows = [_of_head(made, part) for part in parts if part in made.tensors]
    return np.concatenate(rows)


def _of_head(made: Run, code: str) -> np.ndarray:
    axes = SYMBOLS[code].axes.split()
    places = {"b": 0, "h": made.heads.index(HEAD)}
    if "g" in axes:
        places["g"] = made.kv_place(HEAD)
    found = made.tensors[code][tuple(places.get(axis, slice(None)) for axis in axes)]
    return found.reshape(len(found), -1).T if len(found) else found.T


def _cut(made: Run, code: str, real: bool) -> str:
    """Return the text that says what the cells are."""
    pooled = "entries" if made.sinks else "blocks"
    kind = "state" if code == "S" else pooled if "i" in SYMBOLS[code].axes.split()[1] else ""
    return "scene.cut" + ("_" + kind if kind else "") + ("_real" if real else "")
