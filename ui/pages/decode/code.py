"""The code behind the page decode."""

from mla_engine import GroupedQueryAttention, KVCache, LatentCache, MultiHeadLatentAttention, costs
from ui.parts import ways
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    ways.ways(decoding=True)
    latent = MultiHeadLatentAttention
    return (
        latent._decode_latent,
        latent._absorbed,
        LatentCache.append,
        latent._decode_in_full,
        GroupedQueryAttention._decode,
        KVCache.append,
        costs.decode,
    )
