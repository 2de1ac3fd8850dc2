"""Scores under a rotation: they depend only on the distance t - i, so nothing merges.

(R_t q) . (R_i k) = (R_(t-i) q) . k. Between W_q and W_k stands a matrix that moves with the
distance; no constant product can take their place (DeepSeek-V2, section 2.1.3).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from mla_engine.config import RopeConfig
from mla_engine.rope import rotate, rotation


def turned(x: Tensor, rope: RopeConfig, positions: Tensor) -> Tensor:
    """Return one vector [r] at every position [t], float64 [t,r]."""
    rows = x.double().expand(len(positions), -1)
    return rotate(rows, *rotation(rope, x.shape[-1], positions), rope.pairing)


def pair_dimensions(pair: int, width: int, pairing: str) -> tuple[int, int]:
    """Return the two of `width` dimensions that the pair with this index turns."""
    return (2 * pair, 2 * pair + 1) if pairing == "interleaved" else (pair, pair + width // 2)


def diagonal_spread(scores: Tensor) -> float:
    """Return the largest difference between two cells of [t,s] at one distance."""
    count = len(scores)
    diagonals = (scores.diagonal(offset) for offset in range(1 - count, count))
    return max(float(cells.max() - cells.min()) for cells in diagonals)


def rotated_merge(W_Q: Tensor, W_K: Tensor, rope: RopeConfig, distance: int) -> Tensor:
    """Return (R_(t-i) W_Q)^T W_K, what stands between a query's and a key's input at a distance.

    Args:
        W_Q: a head's projection to its queries [k,l].
        W_K: the same to its keys [k,c].
        rope: the rotation of all k dimensions, its scaling without a magnitude.
        distance: t - i, 0 or more.

    Returns:
        float64 [l,c].
    """
    turn = rotation(rope, W_Q.shape[0], torch.tensor(distance))
    return rotate(W_Q.double().T, *turn, rope.pairing) @ W_K.double()


def change_with_distance(
    W_Q: Tensor, W_K: Tensor, rope: RopeConfig, distances: Sequence[int]
) -> Tensor:
    """Return |M(t-i) - M(0)| / |M(0)| of the merged matrix M, in the Frobenius norm.

    M itself is never built: |W_q^T A W_k|^2 is the sum of (A^T G_q A) * G_k, where
    G = W W^T is [k,k].

    Args:
        W_Q: a head's projection to its queries [k,l].
        W_K: the same to its keys [k,c].
        rope: the rotation of all k dimensions, its scaling without a magnitude.
        distances: t - i of each.

    Returns:
        float64 [len(distances)].
    """
    width = W_Q.shape[0]
    grams = [W.double() @ W.double().T for W in (W_Q, W_K)]
    still = torch.eye(width, dtype=torch.float64)
    cos, sin = rotation(rope, width, torch.tensor(distances))
    moved = rotate(still, cos[:, None], sin[:, None], rope.pairing) - still  # R^T - 1 of each

    def squared_norm(between: Tensor) -> Tensor:
        return (between.mT @ grams[0] @ between * grams[1]).sum((-2, -1))

    norms = torch.stack([squared_norm(one) for one in moved])  # all at once would hold far more
    return (norms / squared_norm(still)).clamp(min=0).sqrt()
