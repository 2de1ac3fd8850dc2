"""Compression of keys and values: against numpy's SVD, and against MLA built from the factors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mla_engine import (
    PRESETS,
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    claims,
    costs,
)
from mla_engine.studies.compression import Factors, joint, loss, separate, with_spectrum
from mla_engine.studies.training import query_memory
from tests.engine.samples import hidden, randomized, refused, relative

MHA = GroupedConfig(d_model=24, n_heads=4, n_kv_heads=4, d_head=5, d_value=3)
SETUPS = (
    MHA,
    replace(MHA, d_model=80),  # more columns than rows
    replace(MHA, n_kv_heads=2, d_head=6, rope=RopeConfig(), bias=True, qk_norm=True),
)


def built(config: GroupedConfig, seed: int = 3) -> GroupedQueryAttention:
    return randomized(GroupedQueryAttention(config, seed=seed, dtype=torch.float64))


def stacked(layer: GroupedQueryAttention) -> np.ndarray:
    return np.concatenate([layer.W_K.flatten(0, 1), layer.W_V.flatten(0, 1)])


def svd_cut(matrix: np.ndarray, rank: int) -> np.ndarray:
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return left[:, :rank] * values[:rank] @ right[:rank]


@pytest.mark.parametrize("config", SETUPS)
@pytest.mark.parametrize("rank", [0, 1, 7, 20])
def test_the_joint_latent_is_numpys_truncated_svd(config, rank):
    layer = built(config)
    found = joint(layer.W_K, layer.W_V)
    wanted = np.linalg.svd(stacked(layer), compute_uv=False)
    np.testing.assert_allclose(found.factors.singular_values, wanted, rtol=1e-7)
    W_K, W_V = found.weights(rank)
    assert (W_K.shape, W_V.shape) == (layer.W_K.shape, layer.W_V.shape)
    got = np.concatenate([W_K.flatten(0, 1), W_V.flatten(0, 1)])
    np.testing.assert_allclose(got, svd_cut(stacked(layer), rank), atol=1e-12)


@pytest.mark.parametrize("config", SETUPS)
@pytest.mark.parametrize("rank", [1, 7, 20])
def test_a_fitted_latent_has_numpys_principal_components_of_what_passes_through(config, rank):
    layer, h = built(config), hidden(2, 30, config.d_model)
    made = h.flatten(0, 1).numpy() @ stacked(layer).T
    keys, values = np.split(made, [config.n_kv_heads * config.d_head], axis=1)
    larger = np.linalg.norm(keys) / np.linalg.norm(values)
    wanted = svd_cut(np.concatenate([keys / larger, values], axis=1), rank)
    wanted[:, : keys.shape[1]] *= larger
    way = joint(layer.W_K, layer.W_V, h)
    kept = np.concatenate([part.flatten(2) for part in way.keys_and_values(h, rank)], axis=-1)
    np.testing.assert_allclose(kept.reshape(made.shape), wanted, atol=1e-9)
    weights = np.concatenate([weight.flatten(0, 1) for weight in way.weights(rank)])
    np.testing.assert_allclose(h.flatten(0, 1).numpy() @ weights.T, wanted, atol=1e-9)


def test_separate_latents_share_the_numbers_at_best():
    layer = built(SETUPS[1])
    found = separate(layer.W_K, layer.W_V * 0.5)
    exact = [layer.W_K.flatten(0, 1).numpy(), 0.5 * layer.W_V.flatten(0, 1).numpy()]
    off = {
        n: sum(
            np.linalg.norm(matrix - svd_cut(matrix, rank)) ** 2
            for matrix, rank in zip(exact, (n, 10 - n), strict=True)
        )
        for n in range(11)
    }
    assert found.ranks(10) == (min(off, key=off.get), 10 - min(off, key=off.get))
    parts = [weight.flatten(0, 1).numpy() for weight in found.weights(10)]
    got = sum(np.linalg.norm(a - b) ** 2 for a, b in zip(parts, exact, strict=True))
    assert got == pytest.approx(min(off.values()))
    assert found.ranks(found.most) == (20, 12)


def test_mla_of_the_factors_is_the_compressed_layer():
    config = replace(MHA, d_value=5)
    layer, rank = built(config), 9
    way = joint(layer.W_K, layer.W_V)
    mla = MultiHeadLatentAttention(
        LatentConfig(d_model=24, n_heads=4, d_head=5, d_latent_kv=rank), dtype=torch.float64
    )
    W_DKV, basis = way.factors.coordinates[:rank], way.factors.basis[:, :rank]
    W_UK, W_UV = (half.unflatten(0, (4, 5)) for half in basis.chunk(2))
    parts = {"W_DKV": W_DKV, "W_UK": W_UK, "W_UV": W_UV, "W_UQ": layer.W_Q, "W_O": layer.W_O}
    for name, weight in parts.items():
        getattr(mla, name).copy_(weight)
    h = hidden(2, 6, 24)
    exact, compressed = layer(h), mla.forward_absorbed(h)
    assert costs.cache_elements(mla.config) == rank
    (found,) = loss(layer, h, way, [rank])
    assert found.u == pytest.approx(relative(compressed.u, exact.u))
    seen = exact.mask.expand_as(exact.scores)
    assert found.scores == pytest.approx(relative(compressed.scores_C[seen], exact.scores[seen]))
    keys = torch.einsum("bsc,gkc->bsgk", h @ W_DKV.T, W_UK)
    assert found.k == pytest.approx(relative(keys, exact.k))


@pytest.mark.parametrize("config", SETUPS)
@pytest.mark.parametrize("compress", [joint, separate])
def test_nothing_is_lost_at_full_rank_and_all_at_none(config, compress):
    layer, h = built(config), hidden(1, 8, config.d_model)
    before = {name: p.clone() for name, p in layer.named_parameters()}
    way = compress(layer.W_K, layer.W_V)
    none, full = loss(layer, h, way, [0, way.most])
    assert max(full.k, full.v, full.scores, full.u) < 1e-7
    if not config.bias:
        assert (none.k, none.v, none.scores, none.u) == (1, 1, 1, 1)
    assert all(torch.equal(before[name], p) for name, p in layer.named_parameters())


@pytest.mark.parametrize("decay", [0.0, 0.7, 2.0])
def test_a_chosen_spectrum_keeps_size_and_directions(decay):
    layer = built(MHA)
    W_K, W_V = with_spectrum(layer.W_K, layer.W_V, decay)
    made = np.concatenate([W_K.flatten(0, 1), W_V.flatten(0, 1)])
    left, values, _ = np.linalg.svd(made, full_matrices=False)
    np.testing.assert_allclose(values / values[0], np.arange(1, 25.0) ** -decay, rtol=1e-9)
    assert np.linalg.norm(made) == pytest.approx(np.linalg.norm(stacked(layer)))
    if decay:
        first, *_ = np.linalg.svd(stacked(layer), full_matrices=False)
        np.testing.assert_allclose(abs(np.diag(left.T @ first)), 1, atol=1e-7)


def test_what_cannot_be_compressed_is_refused():
    weight = torch.zeros(2, 3, 8)
    with refused("W_K", "heads, width, d_model"):
        joint(weight[0], weight)
    with refused("W_K", "W_V", "share heads and d_model"):
        separate(weight, torch.zeros(2, 3, 9))
    with refused("decay", -1):
        with_spectrum(weight, weight, -1)
    layer = built(MHA)
    with refused("rank", 25, "at most 24"):
        loss(layer, hidden(1, 2, 24), joint(layer.W_K, layer.W_V), [25])


def test_factors_of_nothing_are_nothing():
    found = Factors.of(torch.zeros(3, 5))
    assert found.singular_values.tolist() == [0, 0, 0]
    assert with_spectrum(torch.zeros(1, 2, 5), torch.zeros(1, 2, 5), 1)[0].abs().max() == 0


@pytest.mark.parametrize("key", ["deepseek-v3", "deepseek-v2", "minicpm3-4b"])
def test_query_memory_is_that_of_the_engines_own_layers(key):
    config = PRESETS[key].config
    plain, again, kept, recomputed = query_memory(config, config.d_latent_q)
    verdict = claims.check("C5", config=config)
    counted = [way.kept_elements for way in (plain, recomputed, kept)]
    assert counted == [verdict.value(name) for name in ("before", "recomputed", "kept")]
    assert again.kept_elements == 0
    for way, of in ((plain, replace(config, d_latent_q=None)), (recomputed, config)):
        sizes = costs.weight_elements(of)
        assert way.weights == sum(sizes.get(name, 0) for name in ("W_DQ", "W_UQ", "W_QR"))
    step = costs.prefill(config, 1).step_flops
    assert 2 * recomputed.recomputed_multiply_adds == step["q_C"] + step["q_R_pre"]
