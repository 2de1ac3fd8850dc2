"""The snippet of the page compression."""

from ui.engine import model
from ui.pages.compression import view as compression
from ui.parts.snippet import Code
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    view = compression.view()
    decay = view.source.decay
    spectrum = "# the weights as they are"
    if compression.own_latent():
        spectrum = "layer = content_attention(layer)\nconfig = layer.config"
    if decay is not None:
        spectrum = (
            f"W_K, W_V = with_spectrum(layer.W_K, layer.W_V, {decay!r})\n"
            "layer.W_K.copy_(W_K), layer.W_V.copy_(W_V)"
        )
    heads = Code(f"range({len(view.source.heads)})")
    values = made(model.present(), view.source.config, heads, origin=view.source.origin)
    return "compression", values | {"rank": view.rank, "spectrum": Code(spectrum)}
