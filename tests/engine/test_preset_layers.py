"""Every published layer, built at its own size with two of its heads, runs as its row says."""

import pytest
import torch

from mla_engine import GroupedConfig, LatentConfig, PooledConfig, costs, mechanisms
from mla_engine.presets import PRESETS
from tests.sampling import some

pytestmark = pytest.mark.usefixtures("unmeasured")

LATENT = some([key for key, p in PRESETS.items() if isinstance(p.config, LatentConfig)], 8)
POOLED = [key for key, p in PRESETS.items() if isinstance(p.config, PooledConfig)]
GROUPED = some([key for key, p in PRESETS.items() if isinstance(p.config, GroupedConfig)], 9)


@pytest.mark.parametrize("key", LATENT)
def test_latent_layer_runs_at_its_published_size(key: str):
    config = PRESETS[key].config
    layer = mechanisms.of(config).layer(config, heads=[0, config.n_heads - 1])
    h = torch.randn(1, 8, config.d_model, generator=torch.Generator().manual_seed(7))
    trace, absorbed = layer(h), layer.forward_absorbed(h)
    assert trace.attention.shape == (1, 2, 8, 8)
    of_token = {"c_KV": 1, "k_R": 1, "k_I": 1}
    if "pooling" in vars(config):  # an index key stands for a block
        of_token = {"c_KV": 1, "k_R": 1, "k_E": 1 / config.pooling}
    held = {name: getattr(trace, name, None) for name in of_token}
    numbers = (x.shape[-1] * of_token[name] for name, x in held.items() if x is not None)
    assert sum(numbers) == costs.cache_elements(config)
    assert torch.allclose(trace.u, absorbed.u, rtol=1e-4, atol=1e-5)
    if not config.d_rope:
        assert trace.k_R is None
        return
    rows = trace.k_R.norm(dim=-1), trace.k_R_pre.norm(dim=-1)
    assert torch.allclose(*rows, rtol=1e-5)
    assert torch.equal(trace.k_R, trace.k_R_pre) == (config.rope is None)


@pytest.mark.parametrize("key", POOLED)
def test_pooled_layers_of_every_kind_run_at_their_published_size(key: str):
    for config, _ in PRESETS[key].kinds:
        layer = mechanisms.of(config).layer(config, heads=[0, config.n_heads - 1])
        h = torch.randn(1, 8, config.d_model, generator=torch.Generator().manual_seed(7))
        trace = layer(h)
        assert trace.kv_T.shape == (1, 8, 512)
        entries = 8 // config.pooling if config.pooling else 0
        assert (0 if trace.kv_E is None else trace.kv_E.shape[1]) == entries
        last = trace.kv_T_normed[..., -config.d_rope :], trace.kv_T[..., -config.d_rope :]
        assert torch.allclose(*(x.norm(dim=-1) for x in last), rtol=1e-5)
        assert not torch.equal(*last)


@pytest.mark.parametrize("key", GROUPED)
def test_grouped_layer_runs_at_its_published_size(key: str):
    config = PRESETS[key].config
    layer = mechanisms.of(config).layer(config, heads=[0, config.n_heads - 1])
    h = torch.randn(1, 8, config.d_model, generator=torch.Generator().manual_seed(7))
    trace = layer(h)
    assert trace.attention.shape == (1, 2, 8, 8)
    assert len(layer.kv_heads) == min(2, config.n_kv_heads)
    assert trace.attention.sum(-1).allclose(torch.ones(1, 2, 8))
    assert torch.equal(trace.k, trace.k_pre) == (config.rope is None and not config.qk_norm)
    assert (layer.b_Q is None, layer.q_norm is None) == (not config.bias, not config.qk_norm)
    if config.logit_softcap:
        assert trace.scores[trace.scores.isfinite()].abs().max() < config.logit_softcap
