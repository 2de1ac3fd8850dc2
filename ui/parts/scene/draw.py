"""The scene on the page: what the browser draws and moves, with its words and its numbers."""

import html
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import streamlit as st

from mla_engine import SYMBOLS
from mla_engine.figures import COLOURS, symbol_parts
from ui import ASSETS
from ui.engine.real_layer import RealLayer
from ui.parts import prose
from ui.parts.maps.run import Run
from ui.parts.scene.layout import BEND, WIDTH, Block
from ui.parts.scene.scene import HEAD, PITCH, ROWS, TOKENS, Scene
from ui.settings import state
from ui.settings.visit import visit
from ui.words.numbers import count
from ui.words.text import listed, safe, t, tensor

LIBRARY = "vendor/anime-4.4.1.umd.min.js"
NEGATIVE, POSITIVE = COLOURS["query"], COLOURS["key"]
FOOT = 30  # below the shelf, for the words


def show(scene: Scene, alt: str) -> None:
    """Draw it; a click on a block opens the page that has all its numbers."""
    try:
        made, failed = scene.ran(), None
    except ValueError as error:
        made, failed = None, error

    def opened() -> None:
        if code := st.session_state.scene.get("open"):
            state.go("attention_maps", **(state.query() | {"map_tensor": code}))

    _component()(key="scene", data=data(scene, made, alt), on_open_change=opened)
    if failed:
        st.caption(t("scene.no_values", reason=safe(prose.reason(failed))))


def _component() -> Callable[..., Any]:
    library, *parts = (
        (ASSETS / name).read_text("utf-8")
        for name in (LIBRARY, "scene.js", "scene.html", "scene.css")
    )
    script, page, style = parts
    return st.components.v2.component("scene", html=page, css=style, js=library + script)


def data(scene: Scene, made: Run | None, alt: str) -> dict[str, Any]:
    """All that the browser needs, as plain numbers and texts."""
    top = scene.layout.height + scene.highest + 40
    place = _places(scene.blocks)
    return {
        "width": WIDTH,
        "height": top + FOOT,
        "bend": BEND,
        "alt": alt,
        "words": list(scene.words),
        "first": _first(scene),
        "blocks": [
            {"place": place[block.tensor.code]} | _block(scene, block, made)
            for block in scene.blocks
        ],
        "curves": [
            {
                "from": source,
                "to": code,
                "place": f"{place[source]} to {place[code]}",
                "role": SYMBOLS[source].role,
                "ends": ends,
            }
            for source, code, ends in scene.curves
        ],
        "shelf": _shelf(scene, top),
        "unit": _unit(scene, top),
        "texts": _texts(scene),
        "told": list(visit().blocks),
    }


def _places(blocks: list[Block]) -> dict[str, str]:
    """By code: the name of what stays the same block while one variant turns into another."""
    seen: Counter[tuple[int, int]] = Counter()
    found = {}
    for block in blocks:
        at = block.tensor.stage, block.tensor.lane
        found[block.tensor.code] = " ".join(map(str, (*at, seen[at])))
        seen[at] += 1
    return found


def _first(scene: Scene) -> str:
    """The code of what the card shows before anything is pointed at: the first that is cached."""
    return next(one.code for one in scene.tensors if SYMBOLS[one.code].cached)


def _block(scene: Scene, block: Block, made: Run | None) -> dict[str, Any]:
    one = block.tensor
    symbol, size = SYMBOLS[one.code], _size(block)
    shown = {
        "code": one.code,
        "box": [block.x, block.y, block.width, block.height],
        "sheets": one.sheets,
        "numbers": one.numbers,
        "role": symbol.role,
        "cached": symbol.cached,
        "reads": list(one.reads),
        "label": dict(zip(("head", "raised", "lowered"), symbol_parts(one.code), strict=True)),
        "html": tensor(one.code),
        "said": f"{one.code}: {t(f'symbols.{one.code}')} {size}",
        "tells": list(_tells(scene, block, size)),
    }
    return shown | (_cells(scene, block, made) if made else {})


def _tells(scene: Scene, block: Block, size: str) -> Iterator[str]:
    """What its card says, as HTML of our own words."""
    one = block.tensor
    yield html.escape(t(f"symbols.{one.code}"))
    yield html.escape(size)
    if one.reads:
        yield t("scene.reads", tensors=listed(map(tensor, one.reads)))
    if SYMBOLS[one.code].cached:
        yield t("scene.cached", numbers=count(one.numbers // len(scene.words)))


def _size(block: Block) -> str:
    shape = " × ".join(map(count, block.tensor.shape[1:]))
    return t("scene.size", shape=shape, numbers=count(block.tensor.numbers))


def _cells(scene: Scene, block: Block, made: Run) -> dict[str, Any]:
    code = block.tensor.code
    whole = made.matrix(code, HEAD).T  # a row a number, a column a token
    found = whole[:ROWS]
    values = {"shown": len(found), "all": len(whole), "seed": scene.model.seed}
    real = isinstance(made.origin, RealLayer)
    return {
        "cells": [[float(f"{value:.3g}") for value in row] for row in found],
        "most": float(np.abs(found).max()) or 1.0,
        "signed": [NEGATIVE, POSITIVE],
        "cut": t("scene.cut_real" if real else "scene.cut", **values),
    }


def _shelf(scene: Scene, top: float) -> dict[str, Any]:
    width, pieces = scene.pieces()
    return {
        "x": 20,
        "y": top,
        "title": top - scene.highest - 14,
        "pitch": PITCH,
        "width": width,
        "pieces": [
            {"code": one.code, "role": SYMBOLS[one.code].role, "height": height}
            for one, height in pieces
        ],
    }


def _unit(scene: Scene, top: float) -> dict[str, float]:
    side = (scene.unit * scene.layout.scale) ** 0.5
    return {"x": 20 + PITCH * TOKENS + 24, "y": top - side, "side": side}


def _texts(scene: Scene) -> dict[str, Any]:
    each = sum(one.numbers for one in scene.tensors if SYMBOLS[one.code].cached) // len(scene.words)
    names = "token", "play", "pause", "shelf", "open"
    return {name: t(f"scene.{name}") for name in names} | {
        "unit": t("scene.unit", numbers=count(scene.unit)),
        "kept": [
            t("scene.kept_one" if n == 1 else "scene.kept", tokens=n, numbers=count(n * each))
            for n in range(len(scene.words) + 1)
        ],
    }
