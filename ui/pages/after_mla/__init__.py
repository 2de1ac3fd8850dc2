"""After MLA: what makes a cache small, over published models, and what is stored against read."""

from kvcount import Placing, Published, read_bytes
from kvcount.levers import Levers, levers
from ui.pages.after_mla import factors, reading
from ui.pages.after_mla.view import View
from ui.parts.snippet import Code, literal
from ui.settings.page import Functions, Page, Recipe, joined


def ran(_view: View) -> Functions:
    """Return what reads a published model's layers, and splits its cache into factors."""
    return Published.model, levers, Levers.steps.fget, Placing.held_bytes, read_bytes


def recipe(view: View) -> Recipe:
    """Return the template of the factors, MHA's bytes and the bytes of a token, as on top."""
    published = Code(f"MODELS[{literal(view.chosen.model)}].model()")
    own = Code(f"find({literal(view.source)}).model")
    return "levers", {"model": own if view.own else published, "kv": view.chosen.kv}


PAGE = Page(
    name="after_mla",
    group="size",
    order=6,
    settings=joined(factors.SETTINGS, reading.SETTINGS),
    sizes=False,
    lecture=("am_model", "am_kv"),
    code=ran,
    snippet=recipe,
    uploads=True,
)
