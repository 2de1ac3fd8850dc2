"""The snippet of the page decode."""

from ui.pages.decode.view import View
from ui.parts.snippet import Code
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """A template and the values that make the title's numbers."""
    words = f"tuple(str(n) for n in range({view.tokens}))"
    values = made(view.model, view.latent, Code(f"range({view.heads})"), words)
    return "decode", values | {"tokens": view.tokens}
