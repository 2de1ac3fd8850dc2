"""Every published layer, built at its own size with two of its heads, runs in every form."""

import pytest
import torch

from mla_engine import costs, mechanisms
from mla_engine.presets import PRESETS
from tests.sampling import some

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.mark.parametrize("key", some(list(PRESETS), 18))
def test_layers_of_every_kind_run_at_their_published_size(key: str):
    for config, _ in PRESETS[key].kinds:
        mechanism = mechanisms.of(config)
        layer = mechanism.layer(config, heads=[0, config.n_heads - 1])
        h = torch.randn(1, 8, config.d_model, generator=torch.Generator().manual_seed(7))
        runs = [form.forward(layer, h) for form in mechanism.forms]
        assert runs[0].u.shape == h.shape
        assert all(torch.allclose(run.u, runs[0].u, rtol=1e-4, atol=1e-5) for run in runs)
        parameters = costs.weight_elements(config, layer.heads)
        assert parameters == {name: p.numel() for name, p in layer.named_parameters()}
