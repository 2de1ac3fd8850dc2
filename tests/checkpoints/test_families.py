"""Every family, loaded from a sharded checkpoint, against the module of transformers."""

import pytest
import torch

from mla_engine.checkpoints import load_attention, open_checkpoint
from tests.checkpoints.models import MODELS, run, saved
from tests.engine.samples import hidden, relative

FORMS = pytest.mark.parametrize("published", [False, True], ids=["own form", "published"])


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("name", MODELS)
@FORMS
@torch.no_grad()
def test_equals_the_module(name, published, models_folder):
    checkpoint = open_checkpoint(saved(name, models_folder, published))
    for layer in MODELS[name].layers:
        ours = load_attention(checkpoint, layer)
        assert ours.config.rope == MODELS[name].rope
        for start in (0, 3, 150):
            h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(start, start + 9)
            u, attention = run(name, layer, h, positions)
            trace = ours(h, positions=positions)
            assert relative(trace.u, u) < 1e-5
            assert relative(trace.attention, attention) < 1e-5
