"""The snippet of the page rope."""

from ui.engine import model
from ui.pages.rope import view as rope
from ui.parts.snippet import config
from ui.parts.snippet_layer import made
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    one, s = rope.head(), state.settings()
    topic = s["rope_topic"]
    values = made(model.present(), one.config, [one.head])
    if topic == "turning":
        shown = {"query": s["rope_query"], "key": s["rope_key"], "positions": rope.POSITIONS}
        return "turning", values | shown
    if topic == "merged":
        return "merged", values | {"distance": s["rope_distance"]}
    if topic == "yarn":
        length = getattr(one.rope.scaling, "original_max_position", 0) + 1
        return "yarn", {"config": config(one.config, state.settings()["preset"]), "length": length}
    choice = s[f"rope_{topic}"]
    shown = rope.reading(one, topic, choice)
    if topic == "scale" and not (shown.kept == shown.mask).all():
        return "scale", values | {"scale": choice}
    readings = {"pairing": "own", "scale": "own", topic: choice}
    return "reading", values | readings | {"start": one.start}
