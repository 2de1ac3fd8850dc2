"""The snippet of the page decode."""

from ui.engine import model
from ui.pages.decode import view as decode
from ui.parts.snippet import Code
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    shown = decode.scene()
    tokens = shown.context + 1
    values = made(
        model.present(),
        shown.latent,
        Code(f"range({shown.heads})"),
        f"tuple(str(n) for n in range({tokens}))",
    )
    return "decode", values | {"tokens": tokens}
