"""What a step of DSA needs is estimated before it is made, and never too low."""

from dataclasses import dataclass, replace

import pytest
import torch

from mla_engine import IndexedCache, IndexedConfig, IndexedLatentAttention, budget
from mla_engine.budget import MemoryBudgetError
from tests.engine import test_estimate
from tests.engine.samples import hidden, refused
from tests.engine.test_budget import LiveBytes

DSA = IndexedConfig(
    **vars(test_estimate.MLA), n_index_heads=3, d_index=10, index_topk=100, index_pairing="half"
)
FEW = replace(DSA, index_topk=5)


@dataclass(frozen=True)
class Way(test_estimate.Way):
    """How a sparse layer decodes."""

    def layer(self, device="cpu"):
        return IndexedLatentAttention(self.config, dtype=self.dtype, device=device)


WAYS = {
    "absorbed": Way(DSA, IndexedCache, "absorbed"),
    "absorbed, reserved": Way(DSA, IndexedCache, "absorbed", capacity=40),
    "absorbed, some, many": Way(DSA, IndexedCache, "absorbed", batch=3, new=5, capacity=45),
    "expanded": Way(DSA, IndexedCache, "expanded", batch=2, new=3),
    "half": Way(DSA, IndexedCache, "absorbed", dtype=torch.bfloat16),
}


@pytest.fixture
def needed(monkeypatch):
    """What each call was said to need, without its int64 positions."""
    said = []
    monkeypatch.setattr(budget, "require", lambda needed, *_: said.append(needed))
    return said


@pytest.mark.parametrize("config", [DSA, FEW], ids=["all chosen", "few chosen"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_step_is_estimated_as_the_meta_run_of_its_length_does(way, config, needed):
    way = replace(way, config=config)
    layer, h, positions = way.layer(), way.h(), 8 * way.new
    for length in range(41 - way.new):
        layer.decode(h, way.held(length), form=way.form)
        assert needed[-1] - positions == way.measured(length), length
    assert len(set(needed)) > 20


@pytest.mark.parametrize("form", ["forward", "forward_absorbed"])
def test_a_run_holds_no_more_than_is_estimated(form, needed):
    layer, h = IndexedLatentAttention(FEW), hidden(2, 20, 24, 1, torch.float32)
    needed.clear()
    with LiveBytes() as real:
        getattr(layer, form)(h)
    assert real.peak <= needed[-1]


def test_a_run_beyond_the_budget_is_refused_before_it_begins(monkeypatch):
    layer, h = IndexedLatentAttention(DSA), hidden(1, 200, 24, 1, torch.float32)
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    with pytest.raises(MemoryBudgetError, match="IndexedLatentAttention prefill needs"):
        layer(h)


def test_no_dense_layer_is_made_of_a_sparse_configuration():
    with refused("config", "must be a LatentConfig"):
        test_estimate.MultiHeadLatentAttention(DSA)
