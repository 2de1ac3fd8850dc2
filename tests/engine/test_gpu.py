"""The same code on a CUDA device: the same weights, the same traces, the same refusals."""

import pytest
import torch

from mla_engine import (
    PRESETS,
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadLatentAttention,
    PooledAttention,
    PooledCache,
    PooledConfig,
    RopeConfig,
)
from mla_engine.budget import PeakBytes
from tests.engine.pooled_samples import KINDS

pytestmark = pytest.mark.gpu
LITE = PRESETS["deepseek-v2-lite"].config
GROUPED = GroupedConfig(d_model=256, n_heads=8, n_kv_heads=2, d_head=32, rope=RopeConfig())


def hidden(d_model: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(2, 24, d_model, generator=torch.manual_seed(0), dtype=torch.float64).to(
        dtype
    )


@pytest.mark.parametrize("call", ["forward", "forward_absorbed"])
def test_latent_traces_equal_those_of_the_cpu(call: str) -> None:
    traces = []
    for device in ("cpu", "cuda"):
        layer = MultiHeadLatentAttention(LITE, heads=[3, 11], dtype=torch.float64, device=device)
        traces.append(getattr(layer, call)(hidden(LITE.d_model).to(device)))
    for name in traces[0].steps:
        on_cpu, on_gpu = (getattr(trace, name).cpu() for trace in traces)
        torch.testing.assert_close(on_gpu, on_cpu, rtol=1e-10, atol=1e-11)


def test_grouped_decoding_equals_prefill() -> None:
    layer = GroupedQueryAttention(GROUPED, dtype=torch.float64, device="cuda")
    h = hidden(GROUPED.d_model).cuda()
    cache, parts = KVCache.empty(GROUPED, 2, torch.float64, "cuda"), []
    for new in h.split(5, dim=1):
        trace, cache = layer.decode(new, cache)
        parts.append(trace.u)
    torch.testing.assert_close(torch.cat(parts, 1), layer(h).u, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_pooled_steps_equal_the_run_of_the_cpu(config: PooledConfig) -> None:
    h = hidden(config.d_model)
    whole = PooledAttention(config, dtype=torch.float64)(h)
    layer = PooledAttention(config, dtype=torch.float64, device="cuda")
    cache, parts = PooledCache.empty(config, 2, torch.float64, "cuda"), []
    for new in h.cuda().split(7, dim=1):
        trace, cache = layer.decode(new, cache)
        parts.append(trace.u.cpu())
    torch.testing.assert_close(torch.cat(parts, 1), whole.u, rtol=1e-10, atol=1e-11)
    assert cache.device.type == "cuda"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_latent_decoding_runs_in_every_dtype(dtype: torch.dtype) -> None:
    layer = MultiHeadLatentAttention(LITE, heads=[0], dtype=dtype, device="cuda")
    h = hidden(LITE.d_model, dtype).cuda()
    cache = LatentCache.empty(LITE, 2, dtype, "cuda", capacity=24)
    for new in h.split(6, dim=1):
        trace, cache = layer.decode(new, cache)
    assert trace.u.dtype == dtype
    assert bool(trace.u.isfinite().all())


def test_the_memory_estimate_holds_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = MultiHeadLatentAttention(LITE, device="cuda")
    h = torch.randn(1, 512, LITE.d_model, device="cuda")
    with PeakBytes() as meter:
        layer(h)
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str(meter.peak * 1.2 / 2**30))
    layer(h)
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str(meter.peak * 0.99 / 2**30))
    with pytest.raises(ValueError, match="memory budget"):
        layer(h)
