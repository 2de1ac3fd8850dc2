"""MHA, GQA and MQA against torch's scaled_dot_product_attention, and against each other."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from mla_engine import GroupedConfig, GroupedQueryAttention
from tests.engine.samples import hidden

pytestmark = pytest.mark.usefixtures("unmeasured")
BASE = {"d_model": 6, "n_heads": 4, "n_kv_heads": 2, "d_head": 4}


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
