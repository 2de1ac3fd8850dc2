"""The snippet of the page compression."""

from ui.engine import trained
from ui.pages.compression import answers
from ui.pages.compression.view import View
from ui.parts.snippet import Code
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe

AS_THEY_ARE = "# the weights as they are"
CONTENT = "layer = content_attention(layer)\nconfig = layer.config"


def recipe(view: View) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    if view.answers:
        return "answers", _asked(view)
    source = view.source
    heads = Code(f"range({len(source.heads)})")
    values = made(view.model, source.config, heads, origin=source.origin)
    return "compression", values | {"rank": view.rank, "spectrum": _spectrum(view)}


def _spectrum(view: View) -> Code:
    """The lines that give the weights the spectrum that is shown."""
    if view.weights == "spectrum":
        return Code(
            f"W_K, W_V = with_spectrum(layer.W_K, layer.W_V, {view.decay!r})\n"
            "layer.W_K.copy_(W_K), layer.W_V.copy_(W_V)"
        )
    return Code(CONTENT if view.latent else AS_THEY_ARE)


def _asked(view: View) -> dict[str, object]:
    codes = (answers.MHA, answers.MLA)
    files = {code: f"{trained.NAMED}/{trained.file(code).name}" for code in codes}
    return files | {"size": view.rank, "asked": answers.ASKED, "seed": answers.SEED}
