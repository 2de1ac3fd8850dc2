"""The scene on the page: what the browser draws and moves, with its words and its numbers."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from mla_engine import SYMBOLS
from mla_engine.figures import symbol_parts
from ui import asset
from ui.parts import motion, prose
from ui.parts.maps.run import Run
from ui.parts.scene import card, opening, still
from ui.parts.scene.layout import TALL, WIDE, picture, places
from ui.parts.scene.scene import Scene
from ui.parts.scene.tensors import Tensor
from ui.settings import state
from ui.settings.visit import visit
from ui.words.numbers import amount, count
from ui.words.text import named, safe, t, tensor

SCRIPTS = "svg.js", "scene_parts.js", "opening.js", "scene.js"
STYLES = "scene.css", "scene_picture.css"


def show(scene: Scene, alt: str) -> None:
    """Draw it; a click on a block opens the page that shows its inside.

    A still stands there until the browser has what moves.
    """
    pictures = {"wide": picture(scene, WIDE), "tall": picture(scene, TALL)}
    words = _words(scene)
    with st.container(key="scene_box"):
        st.html(still.html(scene, pictures, words, alt))
        try:
            made, failed = scene.ran(), None
        except ValueError as error:
            made, failed = None, error
        told = data(scene, made, alt) | {"pictures": pictures, "texts": words}
        # a tuple: whether values of a dictionary are tables Streamlit asks pandas, and imports it
        _component()(key="scene", data=(told,), on_open_change=_opened)
        motion.load_library()
    if failed:
        st.caption(t("scene.no_values", reason=safe(prose.reason(failed))))


def _opened() -> None:
    code = st.session_state.scene.get("open")
    if code in SYMBOLS or code == card.SHELF:
        page, values = card.inside(code)
        state.go(page, **(state.query() | values))


def _component() -> Callable[..., Any]:
    script, style = ("".join(map(asset, names)) for names in (SCRIPTS, STYLES))
    return st.components.v2.component("scene", html=asset("scene.html"), css=style, js=script)


def data(scene: Scene, made: Run | None, alt: str) -> dict[str, Any]:
    """Return what the browser needs beside the pictures, as plain numbers and texts."""
    place = places(scene.tensors)
    return {
        "alt": alt,
        "words": list(scene.words),
        "first": _first(scene),
        "blocks": [{"place": place[one.code]} | _block(scene, one, made) for one in scene.tensors],
        "shelf": _shelf(scene),
        "told": list(visit().blocks),
        "hall": state.settings()["lecture"],
        "opening": opening.piles(scene) if state.query().keys() <= {"lang"} else None,
    }


def _first(scene: Scene) -> str:
    """Return the card's first block: what grows in the cache, or all that is in it."""
    cached = [one for one in scene.tensors if SYMBOLS[one.code].cached]
    return max(cached, key=lambda one: bool(one.cached)).code


def _block(scene: Scene, one: Tensor, made: Run | None) -> dict[str, Any]:
    symbol, said = SYMBOLS[one.code], card.told(scene, one)
    shown = {
        "code": one.code,
        "stage": one.stage,
        "sheets": one.sheets,
        "numbers": one.numbers,
        "count": amount(one.numbers),
        "role": symbol.role,
        "cached": symbol.cached,
        "reads": list(one.reads),
        "label": dict(zip(("head", "raised", "lowered"), symbol_parts(one.code), strict=True)),
        "html": tensor(one.code),
        "said": named(one.code, f"{t(f'symbols.{one.code}')} {said['size']}"),
    }
    return shown | said | (card.cells(made, one.code) if made else {})


def _shelf(scene: Scene) -> dict[str, Any]:
    cached = [one.code for one in scene.tensors if SYMBOLS[one.code].cached]
    numbers = amount(scene.cached)
    said = {"said": t("scene.shelf_said", numbers=numbers), "html": t("scene.shelf_name")}
    named = {"code": card.SHELF, "role": "input", "reads": cached}
    return named | said | card.told_of_shelf(scene)


def _each(scene: Scene) -> str:
    """Return the key of the text beside the large number: per token, and what is fixed."""
    if not scene.fixed:
        return "scene.each"
    return "scene.each_most" if scene.cached else "scene.each_fixed"


def _words(scene: Scene) -> dict[str, Any]:
    """Return all that is written in and under the picture."""
    shown, every = len(scene.words), len(scene.model.words)
    names = "token", "play", "pause", "skip", "shelf", "go", "torn"
    return {name: t(f"scene.{name}") for name in names} | {
        "part": t("scene.part", shown=shown, all=count(every)) if shown < every else "",
        "number": amount(scene.cached),
        "each": t(_each(scene), fixed=count(scene.fixed)),
        "mha": t("scene.mha", numbers=count(scene.mha)),
        "kept": [
            t("scene.kept_one" if n == 1 else "scene.kept", tokens=n, numbers=count(scene.held(n)))
            for n in range(shown + 1)
        ],
    }
