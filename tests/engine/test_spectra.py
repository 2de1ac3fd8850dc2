"""Spectra of single heads against numpy on the matrices in full."""

from dataclasses import replace

import numpy as np
import pytest

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    MultiHeadLatentAttention,
)
from mla_engine.claims.layers import NORMED
from mla_engine.heads import with_heads
from mla_engine.studies.spectra import spectra
from tests.engine.kinds import OF_DELTA, OF_POOLED, layer_of
from tests.engine.samples import arrays, refused


@pytest.mark.parametrize("d_latent_q", [None, 15])
def test_equals_an_svd_of_each_matrix(d_latent_q):
    config = replace(NORMED, d_latent_q=d_latent_q)
    mla = MultiHeadLatentAttention(config, seed=5)
    weights, found = arrays(mla), spectra(mla)
    for head in range(config.n_heads):
        W_UQ, W_UK, W_UV = (weights[name][head] for name in ("W_UQ", "W_UK", "W_UV"))
        for name, matrix in {"W_UK": W_UK, "W_UV": W_UV, "W_QK": W_UQ.T @ W_UK}.items():
            spectrum = found[name]
            wanted = np.linalg.svd(matrix, compute_uv=False)
            got = spectrum.singular_values[head].numpy()
            np.testing.assert_allclose(got, wanted[: len(got)], rtol=1e-10, atol=1e-12)
            assert np.abs(wanted[len(got) :]).max(initial=0) < 1e-12  # none is left out
            assert spectrum.shape == matrix.shape
            assert float(spectrum.norm[head]) == pytest.approx(np.linalg.norm(matrix))
            share = wanted[: len(got)] ** 2 / (wanted**2).sum()
            spread = np.exp(-(share * np.log(share)).sum())
            assert float(spectrum.effective_rank[head]) == pytest.approx(spread)
            assert spectrum.numerical_rank[head] == np.linalg.matrix_rank(matrix.astype("f4"))


def matrices_of_entries(config, w, head):
    W_UO = w["W_UO"][:, head * config.n_output_groups // config.n_heads]
    return {"W_UQ": w["W_UQ"][head], "W_DO": w["W_DO"][head], "W_VO": W_UO @ w["W_DO"][head]}


def matrices_of_a_state(_config, w, head):
    W_A = w["W_UA"][head] @ w["W_DA"] if "W_DA" in w else w["W_UA"][head]
    single = {name: w[name][head] for name in ("W_Q", "W_K", "W_V")}
    return single | {"W_O": w["W_O"][:, head], "W_A": W_A}


OTHERS = {f"entries, {name}": (one, matrices_of_entries) for name, one in OF_POOLED.items()}
OTHERS |= {f"state, {name}": (one, matrices_of_a_state) for name, one in OF_DELTA.items()}


@pytest.mark.parametrize(("config", "matrices"), OTHERS.values(), ids=OTHERS)
def test_of_other_kinds_too(config, matrices):
    layer = layer_of(config)
    weights = arrays(layer)
    for heads in (None, [2, 1]):
        found = spectra(with_heads(layer, heads))
        for place, head in enumerate(heads or range(config.n_heads)):
            wanted = matrices(config, weights, head)
            assert list(found) == list(wanted)
            for code, matrix in wanted.items():
                values = np.linalg.svd(matrix, compute_uv=False)
                got = found[code].singular_values[place].numpy()
                np.testing.assert_allclose(got, values[: len(got)], rtol=1e-9, atol=1e-12)
                assert np.abs(values[len(got) :]).max(initial=0) < 1e-12
                assert found[code].shape == matrix.shape


def test_a_layer_without_such_matrices_is_refused():
    with refused("layer", "GroupedQueryAttention", "MultiHeadLatentAttention"):
        spectra(GroupedQueryAttention(GroupedConfig(d_model=8, n_heads=2, n_kv_heads=1, d_head=4)))
