"""Brackets, precision of the two forms, and merges that go too far, each against another way."""

from dataclasses import replace

import pytest
import torch

from mla_engine import PRESETS, LatentConfig, MultiHeadLatentAttention, costs
from mla_engine.claims.layers import MLA, NORMED
from mla_engine.claims.layers import hidden as claimed_hidden
from mla_engine.studies.agreement import agreement_of, relative_error
from mla_engine.studies.bracketing import bracketings
from mla_engine.studies.merging import content_attention, heads_in_one, past_the_norm
from tests.engine.samples import hidden, randomized, refused

V3 = PRESETS["deepseek-v3"].config


@pytest.mark.parametrize("preset", ["deepseek-v3", "deepseek-v2-lite", "minicpm3-4b"])
@pytest.mark.parametrize(("queries", "context"), [(1, 4095), (64, 900)])
def test_multiply_adds_are_those_of_a_decode_step(preset, queries, context):
    config = PRESETS[preset].config
    keys = context + queries
    products = {"scores": ("q_C_absorbed", "k_C", "scores_C"), "output": ("o_latent", "v_C", "o")}
    for side, names in products.items():
        for form, found in bracketings(config, side, queries=queries, keys=keys).items():
            step = costs.decode(config, context, form, new_tokens=queries).step_flops
            assert 2 * sum(found.multiply_adds) == sum(step.get(name, 0) for name in names)
            assert found.result.code == names[-1]


@pytest.mark.parametrize("side", ["scores", "output"])
def test_bytes_are_those_of_real_tensors(side):
    mla = MultiHeadLatentAttention(MLA)
    h = claimed_hidden(MLA, 7).float()
    traces = {"expanded": mla(h), "absorbed": mla.forward_absorbed(h)}
    for form, found in bracketings(MLA, side, queries=7, keys=7).items():
        held = {name: getattr(traces[form], name) for name in traces[form].steps}
        held |= dict(mla.named_parameters())
        read = sum(held[factor.code].nbytes for factor in found.factors)
        inner, result = held[found.inner.code].nbytes, held[found.result.code].nbytes
        assert found.moved_bytes(4) == (read, 2 * inner, result)


def test_a_bracketing_refuses_what_it_cannot_count():
    with refused("side", "keys", "scores", "output"):
        bracketings(V3, "keys", queries=1, keys=1)
    with refused("queries", 0):
        bracketings(V3, "scores", queries=0, keys=1)


def test_the_forms_agree_to_the_rounding_of_each_format():
    config = replace(NORMED, d_model=512, d_latent_kv=64, d_head=32)
    h = hidden(1, 12, 512)
    found = agreement_of(lambda dtype: MultiHeadLatentAttention(config, seed=4, dtype=dtype), h)
    for dtype, result in found.items():
        eps = torch.finfo(dtype).eps
        assert eps / 100 < result.between < 4 * eps
        torch.testing.assert_close(result.difference, result.absorbed - result.expanded)
        mla = MultiHeadLatentAttention(config, seed=4, dtype=dtype)
        assert torch.equal(result.absorbed, mla.forward_absorbed(h.to(dtype)).u.double())
    exact = found[torch.float64]
    assert exact.errors[0] == 0
    off = (found[torch.bfloat16].expanded - exact.expanded).norm() / exact.expanded.norm()
    assert found[torch.bfloat16].errors[0] == pytest.approx(float(off))


def test_relative_error_of_nothing_is_nothing():
    assert relative_error(torch.zeros(2), torch.zeros(2)) == 0
    assert relative_error(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 4.0])) == 0.75


def scaled(config: LatentConfig) -> MultiHeadLatentAttention:
    return randomized(MultiHeadLatentAttention(config, dtype=torch.float64))


def test_one_matrix_gives_the_sum_of_all_heads_scores():
    config = replace(NORMED, q_latent_scale=1.7, kv_latent_scale=0.6)
    found = heads_in_one(scaled(config), hidden(1, 9, 24))
    assert found.sum_error < 1e-12
    assert found.scores_error > 0.5
    assert found.scores_one.shape == (1, 9, 9)
    assert min(found.u_errors) > 0.1


def test_one_matrix_is_right_for_one_head():
    found = heads_in_one(scaled(replace(NORMED, n_heads=1)), hidden(1, 9, 24))
    assert max(found.scores_error, *found.u_errors) < 1e-12


@pytest.mark.parametrize("bias", [False, True])
def test_up_and_down_merge_without_a_norm_alone(bias):
    h = hidden(1, 9, 24)
    config = replace(NORMED, bias=bias, q_latent_scale=1.7, kv_latent_scale=0.6)
    plain = past_the_norm(scaled(replace(config, latent_norm=False)), h)
    assert max(plain.key_error, plain.query_error) < 1e-12
    normed = past_the_norm(scaled(config), h)
    assert min(normed.key_error, normed.query_error) > 0.05


def test_what_is_missing_is_the_divisor_of_each_token():
    mla, h = scaled(replace(NORMED, norm_eps=1e-12)), hidden(1, 9, 24)
    found = past_the_norm(mla, h)
    divisor = mla(h).c_KV_pre.square().mean(-1).sqrt()[..., None, None]
    torch.testing.assert_close(found.keys_merged, found.keys * divisor, rtol=1e-9, atol=1e-9)


def test_without_query_compression_there_is_no_query_to_merge():
    found = past_the_norm(scaled(replace(NORMED, d_latent_q=None)), hidden(1, 4, 24))
    assert found.queries_merged is None
    assert found.query_error is None


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("d_latent_q", [None, 10])
def test_the_content_attention_is_the_layer_without_norm_and_rotation(d_latent_q, bias):
    config = LatentConfig(
        d_model=24, n_heads=3, d_head=6, d_value=5, d_latent_kv=7, d_latent_q=d_latent_q,
        softmax_scale=0.3, q_latent_scale=1.5, kv_latent_scale=0.7, bias=bias,
    )  # fmt: skip
    mla = randomized(MultiHeadLatentAttention(config, heads=(2, 0), dtype=torch.float64))
    found, h = content_attention(mla), hidden(1, 5, 24)
    exact, trace = mla(h), found(h)
    torch.testing.assert_close(trace.u, exact.u)
    torch.testing.assert_close(trace.scores, exact.scores)
    stacked = torch.cat((found.W_K, found.W_V), dim=1).flatten(0, 1)
    assert torch.linalg.matrix_rank(stacked) == 7
    assert found.heads == (2, 0)


def test_the_content_attention_keeps_the_norms_weights():
    config = LatentConfig(d_model=24, n_heads=2, d_head=6, d_latent_kv=7, latent_norm=True)
    mla = randomized(MultiHeadLatentAttention(config, dtype=torch.float64))
    h = hidden(1, 4, 24)
    wanted = past_the_norm(mla, h).keys_merged
    torch.testing.assert_close(content_attention(mla)(h).k, wanted)
    with refused("mla", "MultiHeadLatentAttention"):
        content_attention(content_attention(mla))
