"""The scene as a still: plain SVG that stands there before the browser has what moves."""

import html as web
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from mla_engine import SYMBOLS
from ui import asset
from ui.engine import shared_cache
from ui.parts.scene.scene import Scene
from ui.parts.scene.tensors import Tensor

LOOK = "scene_picture.css"
FINEST, OVER = 3, 8  # between two lines; above the picture: as in the script

Picture = Mapping[str, Any]
quoted = shared_cache.cached(
    quote
)  # of a picture, letter by letter: it is as long as all else of the still


def html(scene: Scene, pictures: Mapping[str, Picture], texts: Picture, alt: str) -> str:
    """Return both pictures, with the room of the controls; the style shows the one that fits.

    They are images: the page shows them at once, where inline SVG waits for a parser to be loaded.
    """
    images = "".join(
        f'<img class="{name}" alt="{web.escape(alt)}" src="{_address(scene, one, texts)}">'
        for name, one in pictures.items()
    )
    inside = f'<div class="picture">{images}<div class="room"></div></div>'
    drawn = f'<div class="still"><div class="frame"><div class="scene">{inside}</div></div></div>'
    return f"<style>.still {{ {asset(LOOK)} }}</style>{drawn}"


def _address(scene: Scene, picture: Picture, texts: Picture) -> str:
    colours = asset("style.css").partition(".stApp {")[2].partition("}")[0]
    root = f":root {{ color-scheme: light dark; font-family: sans-serif; {colours} }}"
    style = f"{root} {asset(LOOK)}"
    return f"data:image/svg+xml,{quoted(_svg(scene, picture, texts, web.escape(style)))}"


def _svg(scene: Scene, picture: Picture, texts: Picture, style: str) -> str:
    parts = "".join(
        (
            *_curves(picture),
            *(_block(one, picture, len(scene.words)) for one in scene.tensors),
            *_shelf(scene, picture, texts),
        )
    )
    box = f"0 {-OVER} {_n(picture['width'])} {_n(picture['height'] + OVER)}"
    kind = "tall" if picture["tall"] else "wide"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" viewBox="{box}">'
    return f"{opening}<style>{style}</style>{parts}</svg>"


def _n(value: float) -> str:
    return f"{value:.1f}"


def _curves(picture: Picture) -> Iterator[str]:
    for curve in picture["curves"]:
        path = _path(*curve["ends"], bend=picture["bend"], tall=picture["tall"])
        yield f'<path class="curve {curve["role"]}" d="{path}"/>'


def _path(x0: float, y0: float, x1: float, y1: float, *, bend: float, tall: bool) -> str:
    """Return the line that the script draws: straight, then a bend into the block."""
    if tall:
        turn, half = max(y0, y1 - bend), min(bend, y1 - y0) / 2
        ways = [(x0, y0), (x0, turn), (x0, turn + half), (x1, y1 - half), (x1, y1)]
    else:
        turn, half = max(x0, x1 - bend), min(bend, x1 - x0) / 2
        ways = [(x0, y0), (turn, y0), (turn + half, y0), (x1 - half, y1), (x1, y1)]
    start, to, *curve = (f"{_n(x)} {_n(y)}" for x, y in ways)
    return f"M{start}L{to}C{' '.join(curve)}"


def _block(one: Tensor, picture: Picture, words: int) -> str:
    x, y, width, height = picture["boxes"][one.code]
    box = f'width="{_n(width)}" height="{_n(height)}" y="{_n(y)}"'
    column = width / words
    last = f'x="{_n(x + width - column)}" y="{_n(y)}" width="{_n(column)}" height="{_n(height)}"'
    kept = " cached" if SYMBOLS[one.code].cached else ""
    at = (x - 7, y + height / 2 + 6) if picture["tall"] else (x + width / 2, y - 10)
    return (
        f'<g class="block {SYMBOLS[one.code].role}{kept}">'
        f'<rect class="outline" x="{_n(x)}" {box}/><rect class="filled" x="{_n(x)}" {box}/>'
        f'<rect class="lit" {last}/><path class="lines" d="{_lines(one, x, y, width, height)}"/>'
        f'<text x="{_n(at[0])}" y="{_n(at[1])}">{_name(one.code)}</text></g>'
    )


def _lines(one: Tensor, x: float, y: float, width: float, height: float) -> str:
    every = max(1, -(-FINEST * one.sheets // max(1, int(height))))
    rows = (y + height * n / one.sheets for n in range(every, one.sheets, every))
    return "".join(f"M{_n(x)} {_n(row)}h{_n(width)}" for row in rows)


def _name(code: str) -> str:
    head, *parts = code.split("_")
    raised = "".join(part for part in parts if part.isupper())
    return f'{head}<tspan dy="-8" font-size="0.7em">{raised}</tspan>'


def _shelf(scene: Scene, picture: Picture, texts: Picture) -> Iterator[str]:
    shelf = picture["shelf"]
    x, y, pitch = shelf["x"], shelf["y"], shelf["pitch"]
    title = web.escape(texts["shelf"])
    yield f'<text class="start" x="{x}" y="{_n(shelf["title"])}">{title}</text>'
    yield f'<path class="shelf" d="M{x} {_n(y)}h{_n(pitch * len(scene.words))}"/>'
    for number in range(len(scene.words)):
        top, left = y - 1.5, x + pitch * number + (pitch - shelf["width"]) / 2
        for piece in shelf["pieces"]:
            top -= piece["height"]
            yield (
                f'<rect class="kept {piece["role"]}" x="{_n(left)}" y="{_n(top)}" '
                f'width="{_n(shelf["width"])}" height="{_n(piece["height"])}"/>'
            )
