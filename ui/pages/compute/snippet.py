"""The snippet of the page compute."""

from ui.pages.compute.view import THIS, View
from ui.parts.snippet import Code, call, config, literal
from ui.parts.ways import INDEXED, MOST
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """A template and the values that make the title's numbers."""
    if view.model.variant == INDEXED:
        return "indexed", _indexed(view)
    if view.shown in view.later:
        return "after", _indexed(view, view.shown)
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


def _indexed(view: View, code: str = INDEXED) -> dict[str, object]:
    """The values of the templates that set a way after MLA against reading all keys."""
    call = {"batch": view.batch} | ({"new_tokens": view.queries} if view.decoding else {})
    given = ", ".join(f"{name}={literal(value)}" for name, value in call.items())
    return {
        "config": config(view.ways[code].config, view.model.preset),
        "mla": config(view.ways[view.dense].config, view.model.preset),
        "phase": Code("decode" if view.decoding else "prefill"),
        "chosen": view.ways[code].form,
        "every": view.ways[view.dense].form,
        "call": Code(given),
        "most": Code(f"2**{MOST.bit_length() - 1}"),
        "context": view.context,
        "layers": view.layers,
    }
