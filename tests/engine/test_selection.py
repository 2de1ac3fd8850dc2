"""`heads`, `queries` and `latents` compute parts of the full run, of every mechanism and form."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    SYMBOLS,
    DeltaAttention,
    DeltaConfig,
    GroupedConfig,
    LatentConfig,
    RopeConfig,
    mechanisms,
)
from mla_engine.config import LongRopeScaling
from tests.engine.kinds import (
    CONFIGS,
    FORMS,
    GQA,
    MLA,
    OF_DELTA,
    forms,
    layer_of,
    only_chooses,
)
from tests.engine.samples import hidden, refused

pytestmark = pytest.mark.usefixtures("unmeasured")
TOKENS = 13
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
OF_ROWS = {name: (c, form) for name, (c, form) in FORMS.items() if type(c) is not DeltaConfig}
OF_LATENTS = {name: one for name, one in FORMS.items() if isinstance(one[0], LatentConfig)}
rows_too = pytest.mark.parametrize(("config", "form"), OF_ROWS.values(), ids=OF_ROWS)
latents_too = pytest.mark.parametrize(("config", "form"), OF_LATENTS.values(), ids=OF_LATENTS)
SOME = {
    "first": [0],
    "last": [-1],
    "two backwards": [-1, 0],
    "in the middle": [1, 2],
    "all": [0, 2, 1],
}
ROWS = (slice(0, 1), slice(3, 6), slice(-2, None), slice(1, None, 3))


def chosen(config, heads):
    """Heads counted from the end as their numbers."""
    return [head % config.n_heads for head in heads]


def kv_heads_of(config, heads):
    """The KV heads of these heads in order of first use."""
    used = [head * config.n_kv_heads // config.n_heads for head in heads]
    return [g for i, g in enumerate(used) if g not in used[:i]]


def part_of(value, name, config, heads, rows):
    """A field of the full run, or a weight of the whole layer, for these heads and rows."""
    kept = {"t": rows, "h": heads}
    kept |= {"g": kv_heads_of(config, heads)} if config.n_kv_heads else {}
    for axis, letter in enumerate(SYMBOLS[name].axes.split()):
        if letter in kept and name != "h":
            value = value[(slice(None),) * axis + (kept[letter],)]
    return value


def assert_part(trace, full, config, heads, rows, without=("u", "c_O")):
    assert trace.steps == full.steps
    for name in set(trace.steps) - set(without):
        wanted = part_of(getattr(full, name), name, config, heads, rows)
        torch.testing.assert_close(getattr(trace, name), wanted, **CLOSE, msg=name)
    if hasattr(trace, "scores"):
        torch.testing.assert_close(trace.scores, full.scores[:, heads][:, :, rows], **CLOSE)
    if hasattr(trace, "mask"):
        assert torch.equal(trace.mask, full.mask[rows])


@pytest.mark.parametrize("heads", SOME.values(), ids=SOME)
@forms
def test_heads_are_slices_in_the_order_given(config, form, heads):
    layer, h, heads = layer_of(config), hidden(2, TOKENS, 10), chosen(config, heads)
    full, part = form.forward(layer, h), form.forward(layer, h, heads=heads)
    assert_part(part, full, config, heads, slice(None))


@pytest.mark.parametrize("rows", ROWS, ids=str)
@rows_too
def test_queries_are_rows_and_keys_stay(config, form, rows):
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    full, part = form.forward(layer, h), form.forward(layer, h, queries=rows)
    assert_part(part, full, config, list(range(config.n_heads)), rows, without=())
    assert part.attention.shape[-1] == TOKENS


@rows_too
def test_heads_and_queries_with_positions_of_each_sequence(config, form):
    """Each sequence stands where it would alone, also where its positions jump."""
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    positions = torch.stack((torch.arange(TOKENS), 50 + torch.arange(TOKENS) ** 2))
    full = form.forward(layer, h, positions=positions)
    some = {"heads": [2, 0], "queries": slice(2, 5)}
    trace = form.forward(layer, h, positions=positions, **some)
    assert_part(trace, full, config, [2, 0], slice(2, 5))
    for b in range(2):
        alone = form.forward(layer, h[b : b + 1], positions=positions[b])
        torch.testing.assert_close(full.u[b], alone.u[0], **CLOSE)


LONG = LongRopeScaling(
    short_factor=(1.0, 1.5), long_factor=(2.0, 5.0), original_max_position=64, factor=4.0
)
TURNED = [replace(config, rope=RopeConfig(scaling=LONG)) for config in (MLA, GQA)]


@pytest.mark.parametrize("config", TURNED, ids=["MLA", "GQA"])
def test_queries_turn_by_the_factors_of_the_whole_text(config):
    """LongRoPE chooses its factors by the longest position, also where no chosen row has it."""
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    positions = torch.arange(60, 60 + TOKENS)  # 64 is the first one beyond the original context
    for form in mechanisms.of(config).forms:
        full = form.forward(layer, h, positions=positions)
        trace = form.forward(layer, h, positions=positions, queries=slice(0, 3))
        every = list(range(config.n_heads))
        assert_part(trace, full, config, every, slice(0, 3), without=())


@forms
def test_outputs_of_a_partition_of_the_heads_and_of_layers_that_are_parts_add_up(config, form):
    h, whole = hidden(2, TOKENS, 10), layer_of(config)
    parts = [[1], [head for head in (3, 0, 2) if head < config.n_heads]]
    total = sum(form.forward(whole, h, heads=heads).u for heads in parts)
    torch.testing.assert_close(total, form.forward(whole, h).u, **CLOSE)
    plain = mechanisms.of(config).layer
    total = sum(form.forward(plain(config, heads=heads).double(), h).u for heads in parts)
    torch.testing.assert_close(total, form.forward(plain(config).double(), h).u, **CLOSE)


@latents_too
def test_what_compress_keeps_stands_in_for_the_keys(config, form):
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    later = torch.arange(10, 10 + TOKENS)
    held, full = layer.compress(h, positions=later), form.forward(layer, h, positions=later)
    for heads, rows in (([0, 2], slice(1, 4)), (None, None)):
        trace = form.forward(layer, h, heads=heads, queries=rows, latents=held)
        made = set(full.steps) - set(trace.steps)
        assert made >= {"c_KV_pre"}
        assert all(name.endswith(("_pre", "_normed")) or name in OF_TOKENS for name in made)
        for name in set(trace.steps) - ({"u"} if heads else set()):
            every = list(range(config.n_heads))
            wanted = part_of(getattr(full, name), name, config, heads or every, rows or slice(None))
            torch.testing.assert_close(getattr(trace, name), wanted, **CLOSE, msg=name)
    for positions in (later, later.tolist()):
        again = form.forward(layer, h, positions=positions, latents=held)
        torch.testing.assert_close(again.attention, full.attention, **CLOSE)
    with refused("positions ([0, 1", "of the latents ([10, 11"):
        form.forward(layer, h, positions=range(TOKENS), latents=held)
    with refused("latents", "what compress() returned"):
        form.forward(layer, h, latents=full)


OF_TOKENS = {"k_I", "z_IE", "gates_I"}  # what an index key of a block is made of


@forms
def test_gradients_flow_to_every_weight_but_those_that_only_choose(config, form):
    layer, h = layer_of(config).requires_grad_(True), hidden(2, TOKENS, 10).requires_grad_(True)
    form.forward(layer, h).u.square().sum().backward()
    weights = dict(layer.named_parameters())
    still = {name for name, p in weights.items() if p.grad is None or not p.grad.any()}
    assert still == {name for name in weights if only_chooses(name)}
    assert h.grad[:, 0].abs().max() > 0


BIG = {
    "MLA": LatentConfig(
        d_model=32, n_heads=128, d_head=8, d_latent_kv=16, d_rope=4, d_latent_q=12, bias=True
    ),
    "MLA, plain queries": LatentConfig(d_model=32, n_heads=128, d_head=8, d_latent_kv=16, d_rope=4),
    "GQA": GroupedConfig(d_model=32, n_heads=128, n_kv_heads=16, d_head=8, bias=True),
}
EVERY = CONFIGS | {f"{name}, 128 heads": config for name, config in BIG.items()}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("config", EVERY.values(), ids=EVERY)
def test_a_head_has_the_same_weights_alone_and_in_every_dtype(config, dtype):
    kind = mechanisms.of(config).layer
    drawn = dtype if config in OF_DELTA.values() else torch.float64  # what rates are made of
    for heads in ([config.n_heads - 1], [config.n_heads - 1, 0]):
        full = kind(config, seed=11, dtype=drawn)
        part = kind(config, seed=11, heads=heads, dtype=dtype)
        assert [n for n, _ in part.named_parameters()] == [n for n, _ in full.named_parameters()]
        for name, got in part.named_parameters():
            wanted = part_of(getattr(full, name), name, config, heads, slice(None))
            if name == "W_UO":  # of the groups that the heads belong to
                wanted = wanted[:, sorted({head // config.group_size for head in heads})]
            assert torch.equal(got, wanted.to(dtype)), name


@pytest.mark.parametrize("config", BIG.values(), ids=BIG)
def test_weights_differ_between_seeds_heads_and_names_and_have_the_scale_of_their_inputs(config):
    latent, kind = isinstance(config, LatentConfig), mechanisms.of(config).layer
    one, same, other = (kind(config, seed=seed, dtype=torch.float64) for seed in (1, 1, 2))
    fan_in = {"W_UK": 16, "W_UV": 16, "W_O": 128 * 8}
    fan_in |= {"W_UQ": config.d_latent_q or 32, "W_QR": config.d_latent_q or 32} if latent else {}
    for name, weight in one.named_parameters():
        assert torch.equal(weight, getattr(same, name))
        assert not torch.equal(weight, getattr(other, name))
        if name.startswith("W_"):
            measured = weight.std().item() * fan_in.get(name, 32) ** 0.5
            assert measured == pytest.approx(1, abs=0.25), name
        if name.startswith("W_") and name not in ("W_DKV", "W_KR", "W_DQ"):
            heads = weight.movedim(1 if name == "W_O" else 0, 0)
            assert not torch.equal(heads[0], heads[1])
    if latent:
        assert not torch.equal(one.W_UK, one.W_UV)


def test_the_rates_of_a_state_spread_as_models_start_them():
    config = DeltaConfig(d_model=4, n_heads=512, d_head=2)
    many = DeltaAttention(config, dtype=torch.float64)
    rates, steps = many.A_log.exp(), torch.nn.functional.softplus(many.b_A)
    assert 1 <= rates.min() < 1.3 < 15.5 < rates.max() <= 16
    assert 1e-3 <= steps.min() < 1.2e-3 < 0.09 < steps.max() <= 0.1
