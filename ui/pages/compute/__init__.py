"""Compute: what every variant and form costs, on which side of a device's ridge, and from where."""

from mla_engine import costs
from mla_engine.costs import Device, calls
from ui.pages.compute.view import SETTINGS, THIS, View, mend
from ui.parts.snippet import Code, call, config, literal
from ui.parts.ways import INDEXED, MOST
from ui.settings.page import Functions, Page, Recipe


def ran(view: View) -> Functions:
    """Return the functions of the engine that ran for this view and that tell most about it."""
    counted = costs.decode if view.decoding else costs.prefill
    bounds = Device.attainable, Device.seconds
    return (counted, calls.call_cost, *bounds, costs.expanding_wins, costs.attention_turns)


def recipe(view: View) -> Recipe:
    """Return the snippet that makes the title's numbers."""
    if view.model.variant == INDEXED:
        return "indexed", _against_mla(view, INDEXED)
    if view.shown in view.later:
        return "after", _against_mla(view, view.shown)
    chosen = view.chosen
    named = call(view.device) if chosen.gpu == THIS else f"GPUS[{literal(chosen.gpu)}]"
    return "decode" if view.decoding else "prefill", {
        "config": config(view.latent, view.model.preset),
        "mha": config(view.ways["mha"].config, view.model.preset),
        "device": Code(f"costs.{named}"),
        "context": chosen.context,
        "queries": chosen.queries,
        "batch": chosen.batch,
        "layers": view.layers,
    }


def _against_mla(view: View, code: str) -> dict[str, object]:
    """Return the values of the templates that set a way after MLA against reading all keys."""
    new = {"new_tokens": view.chosen.queries} if view.decoding else {}
    given = {"batch": view.chosen.batch} | new
    return {
        "config": config(view.ways[code].config, view.model.preset),
        "mla": config(view.ways[view.dense].config, view.model.preset),
        "phase": Code("decode" if view.decoding else "prefill"),
        "chosen": view.ways[code].form,
        "every": view.ways[view.dense].form,
        "call": Code(", ".join(f"{name}={literal(value)}" for name, value in given.items())),
        "most": Code(f"2**{MOST.bit_length() - 1}"),
        "context": view.chosen.context,
        "layers": view.layers,
    }


PAGE = Page(
    name="compute",
    group="size",
    order=3,
    settings=SETTINGS,
    lecture=("cost_phase", "cost_queries"),
    mend=mend,
    code=ran,
    snippet=recipe,
)
