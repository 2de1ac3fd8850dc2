"""The queries that training keeps until the backward pass, with and without compression.

Compression alone adds the latent to what is kept. It saves memory where the backward pass computes
the queries again out of the small latent (DeepSeek-V3, arXiv 2412.19437, section 3.2.3).
"""

from dataclasses import dataclass

from kvcount import checks
from mla_engine.latent import LatentConfig


@dataclass(frozen=True, kw_only=True)
class QueryMemory:
    """One way to train, per token and layer; h, which other products need, is not counted."""

    compressed: bool
    recomputed: bool
    kept_elements: int  # c_Q and, unless recomputed, q_C and q_R
    recomputed_multiply_adds: int  # to make q_C and q_R once more
    weights: int  # of the query path


def query_memory(config: LatentConfig, d_latent_q: int) -> list[QueryMemory]:
    """Return the four ways: with and without a query latent, queries kept and computed again.

    Args:
        config: the layer, whose own d_latent_q is not looked at.
        d_latent_q: width of the query latent where there is one.

    Raises:
        ValueError: a config of another kind, or a width below 1.
    """
    checks.kind("config", config, LatentConfig)
    checks.whole("d_latent_q", d_latent_q)
    queries = config.n_heads * (config.d_head + config.d_rope)
    ways = []
    for compressed in (False, True):
        latent = d_latent_q if compressed else 0
        source = latent or config.d_model
        for recomputed in (False, True):
            ways.append(
                QueryMemory(
                    compressed=compressed,
                    recomputed=recomputed,
                    kept_elements=latent + (0 if recomputed else queries),
                    recomputed_multiply_adds=source * queries if recomputed else 0,
                    weights=latent * config.d_model + source * queries,
                )
            )
    return ways
