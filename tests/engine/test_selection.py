"""`heads`, `queries` and `latents` compute parts of the full run, from the same weights."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    mechanisms,
)
from mla_engine.config import LongRopeScaling
from tests.engine.samples import hidden, randomized

MLA = LatentConfig(
    d_model=12,
    n_heads=6,
    d_head=4,
    d_latent_kv=7,
    d_rope=2,
    d_value=5,
    d_latent_q=9,
    latent_norm=True,
    kv_latent_scale=1.5,
    bias=True,
)
GQA = GroupedConfig(
    d_model=12,
    n_heads=6,
    n_kv_heads=3,
    d_head=4,
    d_value=5,
    rope=RopeConfig(),
    bias=True,
    qk_norm=True,
    sliding_window=4,
)
CONFIGS = {"MLA": MLA, "MLA, plain queries": replace(MLA, d_latent_q=None), "GQA": GQA}
CONFIGS["MQA"] = replace(GQA, n_kv_heads=1)
TOKENS, FORMS = 8, ("forward", "forward_absorbed")
CASES = [
    (c, f) for c in CONFIGS.values() for f in FORMS if c.__class__ is LatentConfig or f == FORMS[0]
]
cases = pytest.mark.parametrize(
    ("config", "form"), CASES, ids=[f"{i}-{f}" for i, (_, f) in enumerate(CASES)]
)
MAPS = ("scores_C", "scores_R", "scores", "attention")
PER_HEAD = ("q_C", "q_R_pre", "q_R", "q_C_absorbed", "k_C", "v_C", "o_latent", "o", "q_pre", "q")
PER_QUERY = (
    "c_Q_pre", "c_Q", "q_C", "q_R_pre", "q_R", "q_C_absorbed", "o_latent", "o", "u", "q_pre", "q",
)  # fmt: skip


def build(config, seed=11, heads=None, dtype=torch.float64):
    layer_type = mechanisms.of(config).layer
    return layer_type(config, seed=seed, heads=heads, dtype=dtype)


def kv_heads_of(config, heads):
    """The KV heads of these heads in order of first use."""
    used = [head * config.n_kv_heads // config.n_heads for head in heads]
    return [g for i, g in enumerate(used) if g not in used[:i]]


def expected(full, config, name, heads, rows):
    """What a field of the full run becomes."""
    value = getattr(full, name)
    if name in MAPS:
        return value[:, heads][:, :, rows]
    if name in PER_HEAD:
        value = value[:, :, heads]
    elif name in ("k_pre", "k", "v"):
        value = value[:, :, kv_heads_of(config, heads)]
    return value[:, rows] if name in PER_QUERY else value


def assert_part(trace, full, config, heads, rows, without=("u",)):
    assert trace.steps == full.steps
    for name in {*trace.steps, "scores"} - set(without):
        wanted = expected(full, config, name, heads, rows)
        got = getattr(trace, name)
        torch.testing.assert_close(
            got, wanted, rtol=1e-12, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}"
        )
    assert torch.equal(trace.mask, full.mask[rows])


@pytest.mark.parametrize("heads", [[0], [5], [4, 1, 5], [2, 3], range(6), (5, 4, 3, 2, 1, 0)])
@cases
def test_heads_are_slices_in_the_order_given(config, form, heads):
    layer, h = randomized(build(config)), hidden(2, TOKENS, 12)
    full = getattr(layer, form)(h)
    assert_part(getattr(layer, form)(h, heads=heads), full, config, list(heads), slice(None))


@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 6), slice(-2, None), slice(1, None, 3)])
@cases
def test_queries_are_rows_and_keys_stay(config, form, rows):
    layer, h = randomized(build(config)), hidden(2, TOKENS, 12)
    full, trace = getattr(layer, form)(h), getattr(layer, form)(h, queries=rows)
    assert_part(trace, full, config, list(range(6)), rows, without=())
    assert trace.attention.shape[-1] == TOKENS


@cases
def test_heads_and_queries_with_positions_of_each_sequence(config, form):
    layer, h = randomized(build(config)), hidden(2, TOKENS, 12)
    positions = torch.stack((torch.arange(TOKENS), 50 + 3 * torch.arange(TOKENS)))
    full = getattr(layer, form)(h, positions=positions)
    trace = getattr(layer, form)(h, positions=positions, heads=[3, 0], queries=slice(2, 5))
    assert_part(trace, full, config, [3, 0], slice(2, 5))


LONG = LongRopeScaling(
    short_factor=(1.0, 1.5), long_factor=(2.0, 5.0), original_max_position=64, factor=4.0
)


@pytest.mark.parametrize(
    ("config", "form"),
    [
        (replace(MLA, d_rope=4, rope=RopeConfig(scaling=LONG)), "forward"),
        (replace(MLA, d_rope=4, rope=RopeConfig(scaling=LONG)), "forward_absorbed"),
        (replace(GQA, rope=RopeConfig(scaling=LONG)), "forward"),
    ],
)
def test_queries_turn_by_the_factors_of_the_whole_text(config, form):
    """LongRoPE chooses its factors by the longest position, also where no chosen row has it."""
    layer, h = randomized(build(config)), hidden(2, TOKENS, 12)
    positions = torch.arange(60, 60 + TOKENS)  # 64 is the first one beyond the original context
    full = getattr(layer, form)(h, positions=positions)
    rows = slice(0, 3)
    trace = getattr(layer, form)(h, positions=positions, queries=rows)
    assert_part(trace, full, config, list(range(6)), rows, without=())


@pytest.mark.parametrize("parts", [[[0], [1, 2], [3, 4, 5]], [[5, 0], [2, 4, 1], [3]]])
@cases
def test_outputs_of_a_partition_add_up(config, form, parts):
    layer, h = randomized(build(config)), hidden(2, TOKENS, 12)
    whole = getattr(layer, form)(h).u
    total = sum(getattr(layer, form)(h, heads=heads).u for heads in parts)
    torch.testing.assert_close(total, whole, rtol=1e-12, atol=1e-12)


@cases
def test_outputs_of_layers_that_are_parts_add_up(config, form):
    h, parts = hidden(2, TOKENS, 12), ([5, 0], [2, 4, 1], [3])
    whole = getattr(build(config), form)(h).u
    total = sum(getattr(build(config, heads=heads), form)(h).u for heads in parts)
    torch.testing.assert_close(total, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d_rope", [2, 0])
def test_latents_replace_the_shared_part(form, d_rope):
    config = replace(MLA, d_rope=d_rope)
    layer, h = randomized(build(config)), hidden(2, TOKENS, 12)
    latents = layer.compress(h)
    full = getattr(layer, form)(h)
    for heads, rows in (([0, 3], slice(1, 4)), (None, None)):
        trace = getattr(layer, form)(h, heads=heads, queries=rows, latents=latents)
        assert (trace.c_KV_pre, trace.k_R_pre) == (None, None)
        for name in trace.steps:
            if name != "u" or heads is None:
                wanted = expected(full, config, name, heads or list(range(6)), rows or slice(None))
                torch.testing.assert_close(getattr(trace, name), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_latents_keep_their_positions(form):
    layer = randomized(MultiHeadLatentAttention(MLA, dtype=torch.float64))
    h = hidden(1, TOKENS, MLA.d_model)
    later = torch.arange(10, 10 + TOKENS)
    latents = layer.compress(h, positions=later)
    wanted = getattr(layer, form)(h, positions=later)
    for positions in (None, later, later.tolist()):
        got = getattr(layer, form)(h, positions=positions, latents=latents)
        torch.testing.assert_close(got.attention, wanted.attention, rtol=1e-12, atol=1e-13)
    with pytest.raises(ValueError, match=r"positions \(\[0, 1.* of the latents \(\[10, 11"):
        getattr(layer, form)(h, positions=range(TOKENS), latents=latents)


def test_latents_are_read_and_not_made_again():
    """Attention follows the latents that were handed in."""
    layer, h = randomized(build(MLA)), hidden(2, TOKENS, 12)
    other = layer.compress(hidden(2, TOKENS, 12, seed=9))
    trace = layer(h, latents=other)
    torch.testing.assert_close(trace.c_KV, other.c_KV)
    torch.testing.assert_close(trace.k_R, other.k_R)
    assert isinstance(other, LatentCache)
    assert not torch.allclose(trace.u, layer(h).u)


BIG = {
    "MLA": LatentConfig(
        d_model=32, n_heads=128, d_head=8, d_latent_kv=16, d_rope=4, d_latent_q=12, bias=True
    ),
    "MLA, plain queries": LatentConfig(d_model=32, n_heads=128, d_head=8, d_latent_kv=16, d_rope=4),
    "GQA": GroupedConfig(d_model=32, n_heads=128, n_kv_heads=16, d_head=8, bias=True),
}


def head_axis(name):
    return 1 if name == "W_O" else 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("heads", [[77], [127, 0, 77]])
@pytest.mark.parametrize("config", BIG.values(), ids=BIG)
def test_a_head_has_the_same_weights_alone_and_in_every_dtype(config, heads, dtype):
    full, part = build(config), build(config, heads=heads, dtype=dtype)
    shared = {"W_DKV", "W_KR", "W_DQ", "b_DKV", "b_KR", "b_DQ", "b_O"}
    per_kv_head = {"W_K", "W_V", "b_K", "b_V"}
    assert [n for n, _ in part.named_parameters()] == [n for n, _ in full.named_parameters()]
    for name, got in part.named_parameters():
        wanted = getattr(full, name)
        if name not in shared:
            chosen = kv_heads_of(config, heads) if name in per_kv_head else heads
            wanted = wanted.index_select(head_axis(name), torch.tensor(chosen))
        assert torch.equal(got, wanted.to(dtype)), name


@pytest.mark.parametrize("config", BIG.values(), ids=BIG)
def test_weights_differ_between_seeds_heads_and_names_and_have_the_scale_of_their_inputs(config):
    latent = isinstance(config, LatentConfig)
    one, same, other = (build(config, seed=seed) for seed in (1, 1, 2))
    fan_in = {"W_UK": 16, "W_UV": 16, "W_O": 128 * 8}
    fan_in |= {"W_UQ": config.d_latent_q or 32, "W_QR": config.d_latent_q or 32} if latent else {}
    for name, weight in one.named_parameters():
        assert torch.equal(weight, getattr(same, name))
        assert not torch.equal(weight, getattr(other, name))
        if name.startswith("W_"):
            measured = weight.std().item() * fan_in.get(name, 32) ** 0.5
            assert measured == pytest.approx(1, abs=0.25), name
        if name.startswith("W_") and name not in ("W_DKV", "W_KR", "W_DQ"):
            heads = weight.movedim(head_axis(name), 0)
            assert not torch.equal(heads[0], heads[1])
    if latent:
        assert not torch.equal(one.W_UK, one.W_UV)
