"""The snippet of the page compute."""

from ui.pages.compute.view import THIS, View
from ui.parts.snippet import Code, call, config, literal
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """A template and the values that make the title's numbers."""
    named = call(view.device) if view.gpu == THIS else f"GPUS[{literal(view.gpu)}]"
    return "decode" if view.decoding else "prefill", {
        "config": config(view.latent, view.model.preset),
        "mha": config(view.ways["mha"].config, view.model.preset),
        "device": Code(f"costs.{named}"),
        "context": view.context,
        "queries": view.queries,
        "batch": view.batch,
        "layers": view.layers,
    }
