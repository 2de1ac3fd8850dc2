"""What the card of a block says: values, formula, meaning, cost, and the page of its inside."""

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
from latex2mathml.converter import convert

from mla_engine import SYMBOLS
from mla_engine.figures import COLOURS
from ui.engine import kept
from ui.engine.real_layer import RealLayer
from ui.parts.maps.run import Run
from ui.parts.scene.scene import HEAD, Scene
from ui.parts.scene.tensors import Tensor, shown
from ui.words.numbers import count, prefixed_count, times
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
mathml = kept.keep(convert)  # of one formula of LaTeX

Shapes = Mapping[str, tuple[int, ...]]


def inside(code: str) -> tuple[str, dict[str, str]]:
    """The page that shows what is inside a block, and what its link says beside the settings."""
    page = "rope" if _rotates(code) else PAGES.get(code, MAPS)
    return page, {"map_tensor": code} if page == MAPS else {}


def _rotates(code: str) -> bool:
    return code in SYMBOLS and SYMBOLS[code].role == "rope"


def told(scene: Scene, one: Tensor) -> dict[str, str]:
    """The card of a tensor, line by line, as HTML of our own words."""
    shape = " × ".join(map(count, one.shape[1:]))
    size = t("scene.size", shape=shape, numbers=count(one.numbers))
    kept = t("scene.cached", numbers=count(one.kept)) if one.kept else t("scene.not_cached")
    return {
        "meaning": html.escape(t(f"symbols.{one.code}")),
        "formula": _written(one.code, scene),
        "size": html.escape(size),
        "cost": _cost(scene, one.code),
        "kept": kept,
        "open": _way(one.code),
    }


def told_of_shelf(scene: Scene) -> dict[str, str]:
    """The card of the cache."""
    cached = [one for one in scene.tensors if one.kept]
    parts = " + ".join(f"{tensor(one.code)} {count(one.kept)}" for one in cached)
    return {
        "meaning": t("scene.shelf_meaning"),
        "size": t("scene.shelf_size", parts=parts, numbers=count(scene.kept)),
        "kept": t("scene.shelf_ratio", mha=count(scene.mha), ratio=times(scene.mha / scene.kept)),
        "open": _way(SHELF),
    }


def _way(code: str) -> str:
    page, _ = inside(code)
    return t("scene.open", page=t(f"{page}.link"))


def _cost(scene: Scene, code: str) -> str:
    """Of making it, what is made on the way to it included."""
    parts = _made(code, scene.model.form, scene.shapes)
    made = sum(scene.multiply_adds.get(part, 0) for part in parts)
    if not made:
        return t("scene.given")
    tokens = len(scene.words)
    key = "scene.cost_one" if tokens == 1 else "scene.cost"
    return t(key, number=prefixed_count(made), tokens=tokens)


def _made(code: str, form: str, shapes: Shapes) -> list[str]:
    """A tensor and those without a block that it is made from."""
    hidden = [name for name in SYMBOLS[code].step(form).inputs if name in shapes]
    found = [code]
    for name in hidden:
        found += [] if shown(name) else _made(name, form, shapes)
    return found


def _written(code: str, scene: Scene) -> str:
    """How it arises, as MathML."""
    arises = formula(code, scene.model.form, scene.shapes)
    return mathml(f"{SYMBOLS[code].latex} = {arises}") if arises else ""


def formula(code: str, form: str, shapes: Shapes) -> str:
    """LaTeX of how a tensor arises from those that have a block.

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
        elif not shown(name):
            text = text.replace(symbol.latex, formula(name, form, shapes))
    return text


def _without(text: str, summand: str) -> str:
    return text.replace(f" + {summand}", "")


def cells(made: Run, code: str) -> dict[str, Any]:
    """The first of its numbers of one head: a row a number, a column a token."""
    whole = made.matrix(code, HEAD).T  # a row a number, a column a token
    found = whole[:ROWS]
    real = isinstance(made.origin, RealLayer)
    values = {"shown": len(found), "all": len(whole)} | ({} if real else {"seed": made.origin})
    return {
        "cells": [[float(f"{value:.3g}") for value in row] for row in found],
        "most": float(np.abs(found).max()) or 1.0,
        "signed": [NEGATIVE, POSITIVE],
        "cut": t("scene.cut_real" if real else "scene.cut", **values),
    }
