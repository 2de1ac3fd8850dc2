"""The public call itself is timed: same results, same cache, no second estimate."""

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    budget,
    timing,
)
from mla_engine.budget import MemoryBudgetError
from tests.engine.kinds import ways_of
from tests.engine.samples import counted, hidden

MLA = LatentConfig(d_model=32, n_heads=4, d_head=8, d_latent_kv=12, d_rope=4, latent_norm=True)
GQA = GroupedConfig(d_model=32, n_heads=4, n_kv_heads=2, d_head=8, rope=RopeConfig())
WAYS = ways_of({"MLA": MLA, "GQA": GQA})
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@ways
def test_a_step_gives_what_decode_gives_however_often_it_is_called(way):
    layer = way.layer()
    past, new = (hidden(1, n, 32) for n in (6, 2))
    with torch.inference_mode():
        _, held = way.step(layer, past, way.empty(8, batch=1))
        expected, longer = way.step(layer, new, held)
        run = timing.step(layer, new, held, way.form.name)
        for _ in range(3):
            trace, after = run()
        assert torch.equal(trace.u, expected.u)
        assert after.nbytes == longer.nbytes
        assert after.storage is held.storage, "a repeated step must not copy the cache"


@pytest.mark.parametrize("form", ["expanded", "absorbed"])
def test_a_prefill_gives_what_forward_gives(form):
    layer, h = MultiHeadLatentAttention(MLA), hidden(1, 5, 32, dtype=torch.float32)
    expected = layer.forward_absorbed(h) if form == "absorbed" else layer(h)
    assert torch.equal(timing.prefill(layer, h, form)().attention, expected.attention)
    gqa = GroupedQueryAttention(GQA)
    assert torch.equal(timing.prefill(gqa, h)().u, gqa(h).u)


@ways
def test_the_call_is_timed_and_its_memory_not_estimated_again(way, monkeypatch):
    layer, h = timing.layer_of_zeros(way.config), torch.zeros(1, 1, 32)
    held = timing.cache_of_zeros(layer, 6, 1, way.kind)
    assert held.length == 6
    kind = type(layer)
    called, decode = [], kind.decode
    monkeypatch.setattr(kind, "decode", lambda *a, **k: called.append(1) or decode(*a, **k))
    with torch.inference_mode():
        runs = (
            timing.step(layer, h, held, way.form.name),
            timing.prefill(layer, torch.zeros(1, 4, 32)),
        )
        monkeypatch.setattr(budget, "course", lambda run: pytest.fail("estimated again"))
        called.clear()
        for run in runs:
            run()
    assert len(called) == 1


def test_a_layer_of_zeros_has_the_weights_of_its_heads_and_is_refused_beyond_the_budget(
    monkeypatch,
):
    zeros, real = timing.layer_of_zeros(MLA, [1, 3]), MultiHeadLatentAttention(MLA, heads=[1, 3])
    shapes = {name: weight.shape for name, weight in zeros.named_parameters()}
    assert shapes == {name: weight.shape for name, weight in real.named_parameters()}
    assert not any(weight.any() for weight in zeros.parameters())
    monkeypatch.setenv(budget.VARIABLE, "0.000001")
    with pytest.raises(MemoryBudgetError, match="of 4 heads needs"):
        timing.layer_of_zeros(MLA)


def test_the_least_time_without_the_first_run_and_enough_is_enough(monkeypatch):
    clock = iter([0.01, 0.04, 0.02, 0.03, 0.02])  # the first, then until 0.08 s are spent
    monkeypatch.setattr(timing, "_timed", lambda run, device: next(clock))
    assert timing.seconds(lambda: None, "cpu") == 0.02
    assert list(clock) == [0.02]


def test_the_rates_are_those_of_a_product_and_a_copy(monkeypatch):
    done = []

    def seconds(run, device):
        flops.append(counted(lambda: done.append(run())))
        return 0.25

    flops = []
    monkeypatch.setattr(timing, "seconds", seconds)
    assert timing.product_rate("cpu") == flops[0] / 0.25 > 0
    assert timing.copy_rate("cpu") == 2 * done[1].nbytes / 0.25 > 0


def test_the_kernel_is_timed_at_the_sizes_of_a_layer(monkeypatch):
    assert timing.kernel_step(MLA, 4, 9, 2, torch.float16, "cpu") is None  # no kernel runs there
    monkeypatch.setattr(timing, "why_not", lambda *_: None)
    o, lse = timing.kernel_step(MLA, 3, 9, 2, torch.float32, "cpu")()
    assert o.shape == (1, 2, 3, 12)
    assert torch.equal(lse.exp().round(), torch.tensor([8.0, 9.0])[None, :, None].expand(1, 2, 3))
