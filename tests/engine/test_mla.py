"""What MLA is beside its formulas: relative positions, merged matrices, MHA as a case of it."""

import dataclasses

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
)
from tests import reference
from tests.engine.samples import arrays, hidden, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
FORMS = {"forward": reference.latent, "forward_absorbed": reference.absorbed}
BASE = {"d_model": 6, "n_heads": 2, "d_head": 3, "d_latent_kv": 4, "d_rope": 4, "d_latent_q": 5}


def test_rotations_see_differences_of_positions_alone():
    mla = MultiHeadLatentAttention(LatentConfig(**BASE), dtype=torch.float64)
    h = hidden(1, 5, BASE["d_model"])
    near, far = mla(h), mla(h, positions=torch.arange(500, 505))
    torch.testing.assert_close(far.attention, near.attention, rtol=1e-10, atol=1e-10)
    assert relative(far.k_R, near.k_R) > 0.1


@pytest.mark.parametrize("d_latent_q", [5, None])
def test_absorbed_matrices_reproduce_the_content_scores_and_the_output(d_latent_q):
    config = LatentConfig(**(BASE | {"d_latent_q": d_latent_q, "d_head": 2, "d_value": 3}))
    mla = MultiHeadLatentAttention(config, dtype=torch.float64)
    trace, merged = mla(hidden(1, 4, config.d_model)), mla.absorbed_matrices()
    source = trace.c_Q if d_latent_q else trace.h
    u = torch.zeros_like(trace.u)
    for i in range(config.n_heads):
        scores = source[0] @ merged.W_QK[i] @ trace.c_KV[0].T * config.scale
        torch.testing.assert_close(scores, trace.scores_C[0, i], rtol=1e-12, atol=1e-12)
        u[0] += trace.attention[0, i] @ trace.c_KV[0] @ merged.W_VO[i].T
        assert torch.linalg.matrix_rank(merged.W_QK[i]) == 2
    torch.testing.assert_close(u, trace.u, rtol=1e-12, atol=1e-12)


def test_absorbed_matrices_of_chosen_heads_are_slices_and_leave_out_the_scales():
    config = LatentConfig(**(BASE | {"n_heads": 3}))
    plain = MultiHeadLatentAttention(config, dtype=torch.float64)
    scaled = MultiHeadLatentAttention(
        LatentConfig(**(BASE | {"n_heads": 3, "q_latent_scale": 2.0, "kv_latent_scale": 3.0})),
        dtype=torch.float64,
    )
    merged, chosen = plain.absorbed_matrices(), scaled.absorbed_matrices(heads=[2, 0])
    for name in ("W_QK", "W_VO"):
        assert torch.equal(getattr(chosen, name), getattr(merged, name)[[2, 0]])


def test_parameters_are_the_only_truth():
    config = LatentConfig(**(BASE | {"d_latent_q": None}))
    mla = MultiHeadLatentAttention(config, dtype=torch.float64)
    h = hidden(1, 3, config.d_model)
    mla(h)
    for parameter in mla.parameters():
        parameter.mul_(1.5)
    for form, oracle in FORMS.items():
        u = torch.from_numpy(oracle(config, arrays(mla), h.numpy())["u"])
        torch.testing.assert_close(getattr(mla, form)(h).u, u, rtol=1e-12, atol=1e-12)


def test_a_wide_latent_that_copies_its_input_is_mha():
    """With d_c = d_model and W_DKV the identity, W_UK and W_UV are the W_K and W_V of MHA."""
    sizes = {"d_model": 6, "n_heads": 2, "d_head": 3}
    mla = MultiHeadLatentAttention(LatentConfig(**sizes, d_latent_kv=6), dtype=torch.float64)
    mha = GroupedQueryAttention(GroupedConfig(**sizes, n_kv_heads=2), dtype=torch.float64)
    mla.W_DKV.copy_(torch.eye(6))
    for ours, theirs in (("W_UQ", "W_Q"), ("W_UK", "W_K"), ("W_UV", "W_V"), ("W_O", "W_O")):
        getattr(mla, ours).copy_(getattr(mha, theirs))
    h = hidden(2, 5, 6)
    for trace in (mla(h), mla.forward_absorbed(h)):
        torch.testing.assert_close(trace.attention, mha(h).attention, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(trace.u, mha(h).u, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_is_frozen_and_the_layer_keeps_nothing(form):
    mla = MultiHeadLatentAttention(LatentConfig(**BASE), dtype=torch.float64)
    before = dict(vars(mla)), dict(mla.named_parameters())
    trace = getattr(mla, form)(hidden(1, 3, 6))
    assert (dict(vars(mla)), dict(mla.named_parameters())) == before
    assert not list(mla.named_buffers())
    assert not any(parameter.requires_grad for parameter in mla.parameters())
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.u = trace.o
