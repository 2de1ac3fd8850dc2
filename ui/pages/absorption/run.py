"""What the absorption page has the engine compute, cached and shared by all sessions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.agreement import DTYPES, agreement_of
from mla_engine.studies.merging import heads_in_one, past_the_norm
from ui.engine import layers, queue, shared_cache, work
from ui.engine.origin import Origin
from ui.engine.real_layer import RealLayer

MATRICES = ("W_QK", "W_VO")
FORMATS = tuple(str(dtype).removeprefix("torch.") for dtype in DTYPES)


@dataclass(frozen=True, eq=False)
class Merged:
    """A merged matrix of one head, its singular values and how many of them are not rounding."""

    matrix: np.ndarray  # [l,c] or [d,c]
    singular_values: np.ndarray  # falling
    rank: int


@dataclass(frozen=True, eq=False)
class Rounding:
    """Both forms' outputs [t,d] in one format, and relative RMS distances."""

    expanded: np.ndarray
    absorbed: np.ndarray
    difference: np.ndarray
    between: float
    expanded_error: float
    absorbed_error: float


@dataclass(frozen=True, eq=False)
class TooMuch:
    """What one matrix for all heads, and one in the place of the norm, would give."""

    scores: np.ndarray  # [h,t,s], scaled content logits
    scores_one: np.ndarray  # [t,s]
    scores_error: float
    sum_error: float
    best_output: float  # the least relative RMS error of u, over the heads
    key_lengths: np.ndarray  # [s,h]
    merged_lengths: np.ndarray  # [s,h]
    errors: Mapping[str, float | None]  # of keys and queries, with the norm and without


@shared_cache.cached
def entries(config: LatentConfig) -> dict[str, tuple[int, int]]:
    """Entries of the merged matrices of all heads, and of their factors, from the shapes alone."""
    whole = MultiHeadLatentAttention(config, device="meta").absorbed_matrices()
    pairs = zip(whole.merged_elements, whole.factor_elements, strict=True)
    return dict(zip(MATRICES, pairs, strict=True))


@shared_cache.cached(anywhere=True)
def merged(config: LatentConfig, origin: Origin, head: int) -> dict[str, Merged]:
    """W_QK and W_VO of one head.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    rows = config.d_latent_q or config.d_model, config.d_model
    operations = sum(work.singular_values(n, config.d_latent_kv) for n in rows)
    work.require(operations + work.drawing(config, (head,), origin), work.SMALLER_LAYER)
    layers.bring(config, origin, (head,))
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(config, origin, (head,))
        found = layer.absorbed_matrices()
        matrices = found.W_QK[0], found.W_VO[0]
        # Of the merged matrix itself, so that the rounding beyond its rank is seen.
        values = [torch.linalg.svdvals(matrix.double()) for matrix in matrices]
        ranks = int(found.rank_QK()[0]), int(found.rank_VO()[0])
    return {
        name: Merged(layers.to_numpy(matrix), layers.to_numpy(falling), rank)
        for name, matrix, falling, rank in zip(MATRICES, matrices, values, ranks, strict=True)
    }


@shared_cache.cached(anywhere=True)
def rounding(
    config: LatentConfig, origin: Origin, heads: tuple[int, ...], words: tuple[str, ...]
) -> dict[str, Rounding]:
    """Naive and absorbed output in float64, float32 and bfloat16.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    once = work.running(config, "expanded", len(words), heads)
    once += work.running(config, "absorbed", len(words), heads)
    each = once + work.drawing(config, heads, origin)
    work.require(len(FORMATS) * each, work.SMALLER_LAYER)
    h = layers.hidden(words, origin, config.d_model)
    read = {}
    if isinstance(origin, RealLayer):  # before the turn
        read = {dtype: layers.real(config, origin, heads, dtype) for dtype in DTYPES}
    with queue.turn(), torch.inference_mode():
        found = agreement_of(
            lambda dtype: read.pop(dtype, None) or layers.built(config, origin, heads, dtype), h
        )
    return {
        name: Rounding(
            layers.to_numpy(result.expanded[0]),
            layers.to_numpy(result.absorbed[0]),
            layers.to_numpy(result.difference[0]),
            result.between,
            *result.errors,
        )
        for name, result in zip(FORMATS, found.values(), strict=True)
    }


def _require_both(
    config: LatentConfig, origin: Origin, heads: tuple[int, ...], tokens: int
) -> None:
    """A whole matrix for all heads, and for each head; two layers, of which each is run."""
    merging = 2 * len(heads) * config.d_head * config.d_model * config.d_latent_kv
    runs = 4 * work.running(config, "expanded", tokens, heads)
    work.require(4 * merging + runs + 2 * work.drawing(config, heads, origin), work.SMALLER_LAYER)


@shared_cache.cached(anywhere=True)
def too_much(
    config: LatentConfig,
    origin: Origin,
    heads: tuple[int, ...],
    words: tuple[str, ...],
    gain: float,
) -> TooMuch:
    """Merge what must not be merged; the last word's h is `gain` times as long.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    _require_both(config, origin, heads, len(words))
    layers.bring(config, origin, heads)
    layers.bring(replace(config, latent_norm=False), origin, heads)
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(config, origin, heads)
        plain = layers.layer(replace(config, latent_norm=False), origin, heads)
        h = layers.hidden(words, origin, config.d_model)
        longer = h.clone()
        longer[:, -1] *= gain
        one = heads_in_one(layer, h)
        normed, without = past_the_norm(layer, longer), past_the_norm(plain, longer)
    return TooMuch(
        scores=layers.to_numpy(one.scores[0]),
        scores_one=layers.to_numpy(one.scores_one[0]),
        scores_error=one.scores_error,
        sum_error=one.sum_error,
        best_output=min(one.u_errors),
        key_lengths=layers.to_numpy(normed.keys[0].norm(dim=-1)),
        merged_lengths=layers.to_numpy(normed.keys_merged[0].norm(dim=-1)),
        errors={
            "keys": normed.key_error,
            "keys_plain": without.key_error,
            "queries": normed.query_error,
            "queries_plain": without.query_error,
        },
    )
