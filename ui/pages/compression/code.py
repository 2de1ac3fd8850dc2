"""The code behind the page compression."""

from mla_engine.studies import compression, merging, training
from ui.pages.compression.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """The most telling of the engine's functions that ran for this view."""
    return (
        *((merging.content_attention,) if view.latent else ()),
        *((compression.with_spectrum,) if view.weights == "spectrum" else ()),
        compression.joint,
        compression.Factors.of,
        compression.Joint.keys_and_values,
        compression.separate,
        compression.Separate.ranks,
        compression.loss,
        training.query_memory,
    )
