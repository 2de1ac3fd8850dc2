"""With several threads a new token's products are made in parts: the results of one thread."""

from dataclasses import replace

import pytest
import torch

from tests.engine.kinds import MLA, layer_of
from tests.engine.samples import hidden


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def step():
    layer = layer_of(replace(MLA, d_latent_kv=8))
    h = hidden(1, 9, layer.config.d_model)
    return layer.decode(h[:, 8:], layer.compress(h[:, :8]))[0]


def test_a_step_of_two_threads_is_that_of_one(two_threads):
    shared = step()
    torch.set_num_threads(1)
    alone = step()
    for name in alone.steps:
        torch.testing.assert_close(getattr(shared, name), getattr(alone, name))
