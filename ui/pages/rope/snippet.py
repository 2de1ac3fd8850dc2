"""The snippet of the page on rotations."""

from ui.pages.rope import run
from ui.pages.rope.view import View
from ui.parts.snippet import config
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    head = view.head
    if view.topic == "yarn":
        length = getattr(head.rope.scaling, "original_max_position", 0) + 1
        return "yarn", {"config": config(head.config, view.model.preset), "length": length}
    values = made(view.model, head.config, [head.head])
    match view.topic:
        case "turning":
            shown = {"query": view.query, "key": view.key, "positions": run.POSITIONS}
            return "turning", values | shown
        case "merged":
            return "merged", values | {"distance": view.distance}
        case _:
            return _reading(view, values)


def _reading(view: View, values: dict[str, object]) -> Recipe:
    if view.topic == "scale" and not (view.found.kept == view.found.mask).all():
        return "scale", values | {"scale": view.mistake}
    readings = {"pairing": "own", "scale": "own", view.topic: view.mistake}
    return "reading", values | readings | {"start": view.head.start}
