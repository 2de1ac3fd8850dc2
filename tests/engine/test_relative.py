"""Scores depend only on the distance, and the merged matrix moves with it: against numpy."""

import numpy as np
import pytest
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention, RopeConfig
from mla_engine.studies.relative import (
    change_with_distance,
    diagonal_spread,
    pair_dimensions,
    rotated_merge,
    turned,
)
from tests.reference_rope import rotate

PAIRINGS = ("interleaved", "half")
SIZES = {"d_model": 24, "n_heads": 2, "d_head": 8, "d_latent_kv": 12, "d_latent_q": 10, "d_rope": 4}
LAYER = MultiHeadLatentAttention(LatentConfig(**SIZES), seed=3)
W_UQ, W_UK = LAYER.W_UQ[1], LAYER.W_UK[1]


def rotation_matrix(rope: RopeConfig, width: int, position: int) -> np.ndarray:
    """R [k,k], a column for each turned unit vector."""
    return np.stack([rotate(rope, e, position, position + 1) for e in np.eye(width)], axis=1)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_the_merged_matrix_gives_the_score_of_turned_queries_and_keys(pairing):
    rope = RopeConfig(pairing=pairing)
    rng = np.random.default_rng(0)
    c_Q, c_KV = rng.normal(size=10), rng.normal(size=12)
    q, k = W_UQ.double().numpy() @ c_Q, W_UK.double().numpy() @ c_KV
    for t, i in ((7, 7), (9, 4), (105, 100), (40, 1)):
        score = rotate(rope, q, t, t + 1) @ rotate(rope, k, i, i + 1)
        merged = rotated_merge(W_UQ, W_UK, rope, t - i).numpy()
        assert c_Q @ merged @ c_KV == pytest.approx(score, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_its_change_is_that_of_the_whole_matrix(pairing):
    rope, distances = RopeConfig(pairing=pairing), (0, 1, 3, 50)
    a, b = W_UQ.double().numpy(), W_UK.double().numpy()
    whole = [a.T @ rotation_matrix(rope, 8, d).T @ b for d in distances]
    wanted = [np.linalg.norm(m - whole[0]) / np.linalg.norm(whole[0]) for m in whole]
    got = change_with_distance(W_UQ, W_UK, rope, distances)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-10, atol=1e-12)
    assert wanted[1] > 0.1


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_a_pair_turns_in_its_own_two_dimensions(pairing):
    rope, width, pair = RopeConfig(pairing=pairing), 8, 1
    dimensions = pair_dimensions(pair, width, pairing)
    x = torch.zeros(width)
    x[dimensions[0]] = 1.0
    rows = turned(x, rope, torch.tensor([0, 3])).numpy()
    angle = 3 * 10000 ** (-2 * pair / width)
    wanted = np.zeros((2, width))
    wanted[0, dimensions[0]] = 1
    wanted[1, list(dimensions)] = np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(rows, wanted, atol=1e-12)


def test_turned_vectors_score_alike_along_diagonals():
    q, k = torch.randn(2, 16, generator=torch.Generator().manual_seed(0))
    positions = torch.arange(9)
    rope = RopeConfig()
    scores = turned(q, rope, positions) @ turned(k, rope, positions).T
    assert diagonal_spread(scores) < 1e-12
    scores[5, 2] += 0.25
    assert diagonal_spread(scores) == pytest.approx(0.25)
