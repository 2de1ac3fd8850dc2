"""The snippet of the page after_mla."""

from ui.pages.after_mla.view import View
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that makes the headline: the factors, MHA's bytes, and the bytes of a token."""
    return "levers", {"key": view.key, "kv": view.kv}
