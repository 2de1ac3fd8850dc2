"""The snippet of the page after_mla."""

from ui.pages.after_mla.view import View
from ui.parts.snippet import Code, literal
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that makes the headline: the factors, MHA's bytes, and the bytes of a token."""
    published = Code(f"MODELS[{literal(view.key)}].model()")
    own = Code(f"find({literal(view.source)}).model")
    return "levers", {"model": own if view.own else published, "kv": view.kv}
