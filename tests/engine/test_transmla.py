"""A GQA layer as MLA: against numpy's principal components and torch's own attention."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from mla_engine import GroupedConfig, GroupedQueryAttention, RopeConfig, YarnConfig
from mla_engine.rope import rotate, rotation
from mla_engine.studies.transmla import converted, losses
from tests.engine.samples import hidden, refused, relative

GQA = GroupedConfig(
    d_model=48, n_heads=8, n_kv_heads=4, d_head=6, d_value=5, rope=RopeConfig(pairing="half")
)
INTERLEAVED = replace(GQA, rope=RopeConfig(theta=100, pairing="interleaved"))
YARN = replace(
    GQA,
    n_kv_heads=1,
    rope=RopeConfig(scaling=YarnConfig(factor=4, original_max_position=16, attention_factor=1.3)),
)
EXACT = (replace(GQA, rope=None), replace(GQA, n_kv_heads=1), YARN)
H = hidden(2, 40, GQA.d_model)


def built(config):
    return GroupedQueryAttention(config, seed=5, dtype=torch.float64)


@pytest.mark.parametrize("config", EXACT)
def test_nothing_is_lost_without_rotation_or_with_one_kv_head(config):
    layer = built(config)
    mla = converted(layer, H).layer(converted(layer, H).most)
    assert relative(mla(H).u, layer(H).u) < 1e-12
    assert relative(mla.forward_absorbed(H).u, layer(H).u) < 1e-12


def expected(config, layer, h, rank):
    """u of the conversion, by numpy and torch's attention, head by head."""
    g, k, group = config.n_kv_heads, config.d_head, config.group_size
    x = h.numpy()
    keys = np.einsum("btd,gkd->btgk", x, layer.W_K)
    values = np.einsum("btd,gvd->btgv", x, layer.W_V)
    half = config.rope.pairing == "half"
    pairs = [(i, i + k // 2) if half else (2 * i, 2 * i + 1) for i in range(k // 2)]
    rotary, first = np.zeros((*x.shape[:2], k)), np.zeros((g, k))
    for pair in pairs:
        both = np.concatenate([keys[..., place].reshape(-1, g) for place in pair])
        u = np.linalg.svd(both, full_matrices=False)[2][0]
        for place in pair:
            rotary[..., place], first[:, place] = keys[..., place] @ u, u
    rest = keys - first * rotary[:, :, None, :]
    balance = np.linalg.norm(values) / np.linalg.norm(rest)
    flat = np.concatenate([(balance * rest).reshape(-1, g * k), values.reshape(len(x) * 40, -1)], 1)
    kept = np.linalg.svd(flat, full_matrices=False)[2][:rank]
    cut = flat @ kept.T @ kept
    rest = (cut[:, : g * k] / balance).reshape(rest.shape)
    values = cut[:, g * k :].reshape(values.shape)
    cos, sin = rotation(config.rope, k, torch.arange(40))
    turned = rotate(torch.tensor(rotary), cos, sin, config.rope.pairing)
    u = 0
    for head in range(config.n_heads):
        of = head // group
        q = torch.tensor(x) @ layer.W_Q[head].T
        q_R = rotate(q * torch.tensor(first[of]), cos, sin, config.rope.pairing)
        still = q * cos[0, 0] ** 2  # at position 0 a rotation stretches, and turns nothing
        both = torch.cat((still, q_R), -1), torch.cat((torch.tensor(rest[:, :, of]), turned), -1)
        v = torch.tensor(values[:, :, of])
        o = scaled_dot_product_attention(*both, v, is_causal=True, scale=k**-0.5)
        u = u + o @ layer.W_O[:, head].T
    return u


@pytest.mark.parametrize("config", [GQA, INTERLEAVED, replace(YARN, n_kv_heads=4)])
@pytest.mark.parametrize("rank", [1, 9, 44])
def test_the_layer_is_numpys_with_torchs_attention(config, rank):
    layer = built(config)
    got = converted(layer, H, "whole").layer(rank)(H).u
    assert relative(got, expected(config, layer, H, rank)) < 1e-9


@pytest.mark.parametrize(
    ("rank", "size", "last"),
    [
        (9, 17.465145, [0.082866, 0.482764, 0.228862, -0.513388]),
        (20, 22.720261, [0.108601, 0.416407, 0.128332, -0.620567]),
        (30, 23.572006, [0.138488, 0.494162, 0.156897, -0.623814]),
    ],
)
def test_the_outputs_are_those_of_the_published_code(rank, size, last):
    """PartialRope and LoraQKV of MuLabPKU/TransMLA, commit cdd6f8e, run on this layer and H.

    With freqfold 1 and balance_kv_ratio 1; |u|, and what the last token gets first.
    """
    layer = built(replace(GQA, d_value=6))
    u = converted(layer, H).layer(rank)(H).u
    np.testing.assert_allclose([float(u.norm()), *u[1, -1, :4]], [size, *last], atol=2e-6)
    other = converted(layer, H, "whole").layer(rank)(H).u
    assert relative(other, u) > 0.02


@pytest.mark.parametrize("config", [GQA, INTERLEAVED])
def test_the_rest_falls_with_the_rank_and_the_rotation_stays_lost(config):
    found = converted(built(config), H, "whole")
    lost = losses(found, H, [1, 8, 20, found.most])
    squares = [loss.keys**2 + loss.v**2 for loss in lost]  # both are of one size
    assert squares == sorted(squares, reverse=True)
    assert max(lost[-1].keys, lost[-1].v) < 1e-9
    assert lost[-1].u > 0.01  # four KV heads have no common rotary key
    assert [loss.cached for loss in lost] == [loss.rank + config.d_head for loss in lost]


def test_k_R_holds_the_largest_share_that_one_shared_key_can():
    layer = built(GQA)
    keys = layer(H).k_pre.numpy()
    share = 0
    for i in range(3):
        both = np.concatenate([keys[..., place].reshape(-1, 4) for place in (i, i + 3)])
        share += np.linalg.svd(both, compute_uv=False)[0] ** 2
    assert converted(layer, H).share == pytest.approx(share / np.square(keys).sum(), abs=1e-12)


@pytest.mark.parametrize(
    "config",
    [replace(GQA, bias=True), replace(GQA, qk_norm=True), replace(GQA, sliding_window=4)],
)
def test_what_mla_has_no_place_for_is_named(config):
    name = next(n for n in ("bias", "qk_norm", "sliding_window") if getattr(config, n))
    with refused(name, "has no place in MLA"):
        converted(built(config), H)


def test_some_heads_are_brought_over_as_a_layer_of_theirs():
    whole, part = built(GQA), GroupedQueryAttention(GQA, seed=5, heads=[4, 5, 6, 7], dtype=H.dtype)
    assert part.W_K.equal(whole.W_K[2:])
    alone = GroupedQueryAttention.of_weights(
        replace(GQA, n_heads=4, n_kv_heads=2), dict(part.named_parameters()), dtype=H.dtype
    )
    got, wanted = (converted(layer, H).layer(7)(H).u for layer in (part, alone))
    assert relative(got, wanted) < 1e-12


def test_few_values_are_balanced_by_all_of_them():
    layer = built(replace(GQA, n_kv_heads=2, d_value=3))
    found = converted(layer, H)
    assert 0 < found.balance < np.inf
    assert losses(found, H, [found.most])[0].v < 1e-12
