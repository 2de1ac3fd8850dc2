"""MHA, GQA and MQA against the oracle and against torch's scaled_dot_product_attention."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from mla_engine import GroupedConfig, GroupedQueryAttention, RopeConfig
from mla_engine.config import Llama3Scaling
from mla_engine.grouped.mechanism import MECHANISM
from tests import reference
from tests.engine.samples import (
    YARN,
    arrays,
    assert_equals_oracle,
    grouped_configs,
    hidden,
    randomized,
)

STEPS = ("h", "q_pre", "q", "k_pre", "k", "v", "scores", "attention", "o", "u")
BASE = {"d_model": 6, "n_heads": 4, "n_kv_heads": 2, "d_head": 4}
CHOSEN = {
    "MHA": {"n_kv_heads": 4},
    "GQA": {},
    "MQA": {"n_kv_heads": 1},
    "one head": {"n_heads": 1, "n_kv_heads": 1},
    "three heads": {"n_heads": 3, "n_kv_heads": 1},
    "values wider than heads": {"d_value": 7},
    "values narrower than heads": {"d_value": 2},
    "interleaved": {"rope": RopeConfig()},
    "half": {"rope": RopeConfig(pairing="half")},
    "YaRN": {"rope": RopeConfig(pairing="half", scaling=YARN)},
    "Llama 3.1": {
        "rope": RopeConfig(scaling=Llama3Scaling(factor=8.0, original_max_position=64)),
        "d_head": 8,
    },
    "biases": {"bias": True},
    "QK norm": {"qk_norm": True, "rope": RopeConfig(pairing="half"), "norm_eps": 1e-2},
    "soft cap": {"logit_softcap": 0.5},
    "window": {"sliding_window": 2},
    "window of one": {"sliding_window": 1},
    "everything": {
        "bias": True,
        "qk_norm": True,
        "logit_softcap": 0.5,
        "sliding_window": 3,
        "d_value": 5,
        "softmax_scale": 0.9,
        "rope": RopeConfig(scaling=YARN),
    },
}


def check(config, batch, tokens, start):
    gqa = randomized(GroupedQueryAttention(config, seed=4, dtype=torch.float64))
    h = hidden(batch, tokens, config.d_model)
    positions = range(start, start + tokens)
    trace = gqa(h, positions=list(positions))
    expected = reference.grouped(config, arrays(gqa), h.numpy(), positions)
    assert_equals_oracle(trace, expected, STEPS)
    np.testing.assert_array_equal(trace.mask.numpy(), np.isfinite(expected["scores"][0, 0]))
    fused = MECHANISM.fused(gqa, h, torch.tensor(positions))
    torch.testing.assert_close(fused, trace.u, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("tokens", "start"), [(1, 0), (4, 0), (4, 70)], ids=["one token", "start", "beyond 64"]
)
@pytest.mark.parametrize("change", CHOSEN.values(), ids=CHOSEN)
def test_equals_the_oracle(change, tokens, start):
    check(GroupedConfig(**(BASE | change)), 2, tokens, start)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    config=grouped_configs(),
    batch=st.integers(1, 2),
    tokens=st.integers(1, 5),
    start=st.sampled_from([0, 5, 100]),
)
def test_equals_the_oracle_over_drawn_configurations(config, batch, tokens, start):
    check(config, batch, tokens, start)


@pytest.mark.parametrize("n_kv_heads", [6, 3, 2, 1])
@pytest.mark.parametrize("d_value", [4, 5])
def test_equals_scaled_dot_product_attention(n_kv_heads, d_value):
    config = GroupedConfig(d_model=12, n_heads=6, n_kv_heads=n_kv_heads, d_head=4, d_value=d_value)
    gqa = GroupedQueryAttention(config, dtype=torch.float64)
    h = hidden(2, 7, 12)
    q, k, v = (
        (h @ w.flatten(0, 1).T).unflatten(-1, w.shape[:2]) for w in (gqa.W_Q, gqa.W_K, gqa.W_V)
    )
    o = scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True, enable_gqa=True
    ).transpose(1, 2)
    trace = gqa(h)
    torch.testing.assert_close(trace.o, o, rtol=1e-12, atol=1e-12)
    u = o.flatten(2) @ gqa.W_O.flatten(1).T
    torch.testing.assert_close(trace.u, u, rtol=1e-12, atol=1e-12)


def test_neighbouring_heads_share_a_kv_head():
    """Heads 0, 1 read KV head 0 and heads 2, 3 KV head 1 (repeat_interleave, not tile)."""
    config = GroupedConfig(**BASE)
    gqa = GroupedQueryAttention(config, dtype=torch.float64)
    h = hidden(1, 4, config.d_model)
    before = gqa(h).o
    gqa.W_V[1] += 1.0
    changed = (gqa(h).o - before).abs().amax(dim=(0, 1, 3)) > 1e-9
    assert changed.tolist() == [False, False, True, True]


def test_mha_is_gqa_with_repeated_kv_heads():
    """MHA with each KV head's weights written twice gives what GQA gives."""
    gqa = GroupedQueryAttention(GroupedConfig(**BASE), dtype=torch.float64)
    mha = GroupedQueryAttention(GroupedConfig(**(BASE | {"n_kv_heads": 4})), dtype=torch.float64)
    for name in ("W_Q", "W_O"):
        getattr(mha, name).copy_(getattr(gqa, name))
    for name in ("W_K", "W_V"):
        getattr(mha, name).copy_(getattr(gqa, name).repeat_interleave(2, dim=0))
    h = hidden(2, 5, 6)
    torch.testing.assert_close(mha(h).u, gqa(h).u, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("change", [{}, {"logit_softcap": 0.5}, {"sliding_window": 2}])
def test_rows_of_attention_sum_to_one(change):
    gqa = GroupedQueryAttention(GroupedConfig(**(BASE | change)), dtype=torch.float64)
    attention = gqa(hidden(2, 6, 6)).attention
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, 4, 6, dtype=torch.float64))
    assert (attention.triu(1) == 0).all()
