"""The same code on a CUDA device: the same weights, the same traces, the same refusals."""

from dataclasses import fields

import pytest
import torch

from mla_engine import PRESETS, MultiHeadLatentAttention
from mla_engine.budget import PeakBytes
from tests.engine.kinds import FORMS, forms, layer_of, ways
from tests.engine.samples import hidden

pytestmark = pytest.mark.gpu
LITE = PRESETS["deepseek-v2-lite"].config
DEVICE = "cuda"
BOUNDS = {torch.float64: 1e-10, torch.float32: 1e-4}
ENOUGH = pytest.mark.parametrize("dtype", BOUNDS, ids=str)


@pytest.fixture(autouse=True)
def without_tf32():
    """Products of float32 in float32: TF32 keeps 10 bits of the 23."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def on_both(config, dtype):
    """The layer on the CPU and the same weights on the device."""
    layer = layer_of(config, dtype=dtype)
    weights = dict(layer.named_parameters())
    return layer, type(layer).of_weights(config, weights, dtype=dtype, device=DEVICE)


def assert_same(there, here, dtype):
    """Every tensor of two traces, to the dtype's bound relative to the largest of its row."""
    assert type(there) is type(here)
    for field in fields(here):
        one, other = getattr(there, field.name), getattr(here, field.name)
        assert (one is None) == (other is None), field.name
        if not isinstance(other, torch.Tensor):
            continue
        assert one.device.type == torch.device(DEVICE).type, field.name
        if not other.is_floating_point():
            assert torch.equal(one.cpu(), other), field.name
            continue
        assert torch.equal(one.cpu().isfinite(), other.isfinite()), field.name
        one, other = one.cpu().nan_to_num(posinf=0, neginf=0), other.nan_to_num(posinf=0, neginf=0)
        scale = other.abs().amax(-1, keepdim=True).clamp_min(1.0)
        off = ((one - other).abs() / scale).amax()
        assert off <= BOUNDS[dtype], (field.name, float(off))


@ENOUGH
@forms
def test_every_trace_equals_that_of_the_cpu(config, form, dtype):
    here, there = on_both(config, dtype)
    h = hidden(2, 11, config.d_model, dtype=dtype)
    assert_same(form.forward(there, h.to(DEVICE)), form.forward(here, h), dtype)


@ENOUGH
@ways
def test_every_step_equals_that_of_the_cpu(way, dtype):
    h, traces = hidden(2, 11, way.config.d_model, dtype=dtype), []
    for layer in on_both(way.config, dtype):
        on_it = h.to(layer.device)
        _, cache = way.step(layer, on_it[:, :7], layer.empty_cache(way.cache, 2))
        trace, cache = way.step(layer, on_it[:, 7:], cache)
        assert cache.device.type == layer.device.type
        traces.append(trace)
    here, there = traces
    assert_same(there, here, dtype)


WITHOUT_CHOICE = {name: one for name, one in FORMS.items() if not one[0].chooses_keys}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("config", "form"), WITHOUT_CHOICE.values(), ids=WITHOUT_CHOICE)
def test_a_short_type_is_near_the_result_of_float32(config, form, dtype):
    """Within 2 units of the last place of the row's maximum, beside what the CPU is off by.

    Each product rounds, so the CPU's own chain of them is off from float32 by up to some units. A
    choice between keys whose scores almost tie may differ.
    """
    here, there = on_both(config, dtype)
    h = hidden(2, 11, config.d_model, dtype=dtype)
    u, on_cpu = form.forward(there, h.to(DEVICE)).u, form.forward(here, h).u.float()
    wanted = form.forward(here.float(), h.float()).u
    assert u.dtype == dtype
    unit = torch.finfo(dtype).eps * 2.0 ** wanted.abs().amax(-1, keepdim=True).log2().floor()
    own = ((on_cpu - wanted).abs() / unit).amax()
    assert ((u.cpu().float() - wanted).abs() / unit).amax() <= own + 2


def test_published_sizes_equal_those_of_the_cpu():
    traces = []
    for device in ("cpu", DEVICE):
        layer = MultiHeadLatentAttention(LITE, heads=[3, 11], dtype=torch.float64, device=device)
        traces.append(layer(hidden(2, 24, LITE.d_model).to(device)))
    assert_same(traces[1], traces[0], torch.float64)


def test_the_memory_estimate_holds_there(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = MultiHeadLatentAttention(LITE, device=DEVICE)
    h = torch.randn(1, 512, LITE.d_model, device=DEVICE)
    with PeakBytes() as meter:
        layer(h)
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str(meter.peak * 1.2 / 2**30))
    layer(h)
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str(meter.peak * 0.99 / 2**30))
    with pytest.raises(ValueError, match="memory budget"):
        layer(h)
