"""The code behind the page compression."""

from mla_engine.studies import compression as factoring
from mla_engine.studies import merging, training
from ui.pages.compression import view as compression_page
from ui.settings import state
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    compression_page.layer_config()
    latent = compression_page.own_latent()
    spectrum = state.settings()["cmp_weights"] == "spectrum"
    return (
        *((merging.content_attention,) if latent else ()),
        *((factoring.with_spectrum,) if spectrum else ()),
        factoring.joint,
        factoring.Factors.of,
        factoring.Joint.weights,
        factoring.separate,
        factoring.Separate.ranks,
        factoring.loss,
        training.query_memory,
    )
