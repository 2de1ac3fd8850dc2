"""The engine's functions that run a layer forward, by its form."""

from collections.abc import Mapping

from mla_engine import GroupedQueryAttention, MultiHeadLatentAttention
from ui.engine import model
from ui.parts import flow
from ui.settings.page import Functions

_LATENT = (
    MultiHeadLatentAttention._prefill,
    MultiHeadLatentAttention._queries,
    MultiHeadLatentAttention._latents,
)
FORWARD: Mapping[str, Functions] = {
    "expanded": (
        *_LATENT,
        MultiHeadLatentAttention._up_projected,
        MultiHeadLatentAttention._attend,
    ),
    "absorbed": (*_LATENT, MultiHeadLatentAttention._absorbed),
    "grouped": (
        GroupedQueryAttention._prefill,
        GroupedQueryAttention._keys,
        GroupedQueryAttention._attend,
    ),
}


def form() -> str:
    """The form of the present variant."""
    return flow.FORMS.get(model.present_variant(), "grouped")
