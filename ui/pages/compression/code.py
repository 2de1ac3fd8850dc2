"""The code behind the page compression."""

from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.cuts import without_minor_directions
from mla_engine.language_model.retrofit import Retrofit
from mla_engine.studies import compression, merging, training, transmla
from ui.pages.compression.view import View
from ui.settings.page import Functions

ASKED = (
    Retrofit.by_weights,
    Retrofit.by_texts,
    Retrofit.cut,
    without_minor_directions,
    by_task,
    compression.loss,
    transmla.converted,
)


def ran(view: View) -> Functions:
    """The most telling of the engine's functions that ran for this view."""
    if view.answers:
        return ASKED
    return (
        *((merging.content_attention,) if view.latent else ()),
        *((compression.with_spectrum,) if view.weights == "spectrum" else ()),
        compression.joint,
        compression.Factors.of,
        compression.Joint.keys_and_values,
        compression.separate,
        compression.Separate.ranks,
        compression.loss,
        transmla.converted,
        training.query_memory,
    )
