"""MLA against the oracle: both forms, every field, drawn and chosen configurations."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
)
from mla_engine.config import LinearScaling, Llama3Scaling, LongRopeScaling
from tests import reference
from tests.engine.samples import (
    YARN,
    arrays,
    assert_equals_oracle,
    hidden,
    latent_configs,
    randomized,
    relative,
)

FORMS = {"forward": reference.latent, "forward_absorbed": reference.absorbed}
BASE = {"d_model": 6, "n_heads": 2, "d_head": 3, "d_latent_kv": 4, "d_rope": 4, "d_latent_q": 5}
LONG = LongRopeScaling(
    short_factor=(1.1, 1.5), long_factor=(2.0, 5.0), original_max_position=64, factor=4.0
)
CHOSEN = {
    "one head": {"n_heads": 1},
    "three heads": {"n_heads": 3},
    "values wider than heads": {"d_value": 5},
    "values narrower than heads": {"d_value": 2},
    "no query compression": {"d_latent_q": None},
    "no rotary part": {"d_rope": 0},
    "rotary part not rotated": {"rope": None},
    "half pairing": {"rope": RopeConfig(pairing="half")},
    "latent norm": {"latent_norm": True, "norm_eps": 1e-2},
    "LongCat": {"latent_norm": True, "q_latent_scale": 2.0, "kv_latent_scale": 3.464},
    "biases": {"bias": True},
    "biases without query compression": {"bias": True, "d_latent_q": None, "d_rope": 0},
    "scale given": {"softmax_scale": 0.7, "rope": RopeConfig(scaling=YARN)},
    "YaRN": {"rope": RopeConfig(scaling=YARN)},
    "YaRN in halves": {"rope": RopeConfig(scaling=YARN, pairing="half"), "d_rope": 6},
    "linear": {"rope": RopeConfig(scaling=LinearScaling(factor=4.0))},
    "Llama 3.1": {
        "rope": RopeConfig(scaling=Llama3Scaling(factor=8.0, original_max_position=64)),
        "d_rope": 8,
    },
    "LongRoPE": {"rope": RopeConfig(scaling=LONG, pairing="half")},
}


ORDER = {
    "forward": "h c_Q_pre c_Q q_C q_R_pre q_R c_KV_pre c_KV k_C v_C k_R_pre k_R scores_C scores_R "
    "attention o u",
    "forward_absorbed": "h c_Q_pre c_Q q_C q_C_absorbed q_R_pre q_R c_KV_pre c_KV k_R_pre k_R "
    "scores_C scores_R attention o_latent o u",
}


def fields(config, form):
    """The steps that the contract promises for this configuration, in order of computation."""
    absent = set() if config.d_latent_q else {"c_Q_pre", "c_Q"}
    absent |= set() if config.d_rope else {"q_R_pre", "q_R", "k_R_pre", "k_R", "scores_R"}
    return [name for name in ORDER[form].split() if name not in absent]


def check(config, batch, tokens, start, form):
    """One run against the oracle, far enough along the text for the rotation to matter."""
    mla = randomized(MultiHeadLatentAttention(config, seed=5, dtype=torch.float64))
    h = hidden(batch, tokens, config.d_model)
    positions = range(start, start + tokens)
    trace = getattr(mla, form)(h, positions=list(positions))
    expected = FORMS[form](config, arrays(mla), h.numpy(), positions)
    assert_equals_oracle(trace, expected, fields(config, form))
    seen = np.tril(np.ones((tokens, tokens), dtype=bool))
    np.testing.assert_array_equal(trace.mask.numpy(), seen)
    total = expected["scores_C"] + (expected["scores_R"] if config.d_rope else 0)
    wanted = np.where(seen, total, -np.inf)
    np.testing.assert_allclose(trace.scores.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("tokens", "start"), [(1, 0), (4, 0), (3, 70)], ids=["one token", "start", "beyond 64"]
)
@pytest.mark.parametrize("change", CHOSEN.values(), ids=CHOSEN)
def test_equals_the_oracle(change, tokens, start, form):
    check(LatentConfig(**(BASE | change)), 2, tokens, start, form)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    config=latent_configs(),
    batch=st.integers(1, 2),
    tokens=st.integers(1, 4),
    start=st.sampled_from([0, 5, 100]),
)
def test_equals_the_oracle_over_drawn_configurations(form, config, batch, tokens, start):
    check(config, batch, tokens, start, form)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(config=latent_configs(), tokens=st.integers(1, 4))
def test_both_forms_agree(config, tokens):
    mla = randomized(MultiHeadLatentAttention(config, dtype=torch.float64))
    h = hidden(2, tokens, config.d_model)
    expanded, absorbed = mla(h), mla.forward_absorbed(h)
    for name in set(expanded.steps) & set(absorbed.steps):
        torch.testing.assert_close(
            getattr(absorbed, name), getattr(expanded, name), rtol=1e-12, atol=1e-12, msg=name
        )


@pytest.mark.parametrize("form", FORMS)
def test_positions_may_differ_between_sequences_and_jump(form):
    config = LatentConfig(**BASE)
    mla = MultiHeadLatentAttention(config, dtype=torch.float64)
    h = hidden(2, 3, config.d_model)
    positions = torch.tensor([[0, 7, 8], [40, 41, 90]])
    expected = FORMS[form](config, arrays(mla), h.numpy(), positions.numpy())
    assert_equals_oracle(getattr(mla, form)(h, positions=positions), expected, fields(config, form))


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
        expected = oracle(config, arrays(mla), h.numpy())
        assert_equals_oracle(getattr(mla, form)(h), expected, fields(config, form))


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
