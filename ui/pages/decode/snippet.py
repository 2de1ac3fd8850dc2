"""The snippet of the page decode."""

from ui.engine import trained
from ui.engine.trained_layer import TrainedLayer
from ui.pages.decode.view import View
from ui.parts.snippet import Code, config, made
from ui.parts.ways import MOST, successor
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """A template and the values that make the title's numbers."""
    if view.choosing:
        of_blocks = "pooling" in vars(view.ways[view.choosing].config)
        return "blocks" if of_blocks else "indexed", _indexed(view)
    if view.uneven:
        return successor(), _uneven(view)
    words = f"tuple(str(n) for n in range({view.tokens}))"
    values = made(view.model, view.latent, Code(f"range({view.heads})"), words)
    values |= {"tokens": view.tokens}
    origin = view.model.origin(view.latent)
    if not isinstance(origin, TrainedLayer):
        return "decode", values
    file = f"{trained.NAMED}/{trained.file(view.writer).name}"
    values |= {"sentence": " ".join(view.words[: view.prompt]), "steps": view.step}
    return "decode_written", values | {"writer": file, "number": origin.layer}


def _uneven(view: View) -> dict[str, object]:
    """The values of the templates that count real caches, whatever they hold."""
    preset = view.model.preset
    return {
        "config": config(view.ways[view.uneven].config, preset),
        "mla": config(view.latent, preset),
        "tokens": view.tokens,
    }


def _indexed(view: View) -> dict[str, object]:
    """The values of the template that sets what is read with an indexer against all."""
    preset = view.model.preset
    return {
        "config": config(view.ways[view.choosing].config, preset),
        "mla": config(view.latent, preset),
        "context": view.context,
        "most": Code(f"2**{MOST.bit_length() - 1}"),
    }
