"""CSA, HCA and windows in 16 bits, and with equal index scores."""

from dataclasses import replace

import pytest
import torch

from mla_engine import PooledCache, RopeConfig
from tests.engine.kinds import CSA, OF_POOLED, SWA, layer_of
from tests.engine.samples import hidden, refused, relative
from tests.engine.test_longrope import SCALING

pytestmark = pytest.mark.usefixtures("unmeasured")


def test_where_index_heads_find_nothing_the_first_entries_are_kept():
    layer = layer_of(replace(CSA, d_rope=0))
    layer.c_Q_norm.zero_()  # the index query is 0
    trace = layer(hidden(1, 13, 10))
    assert not trace.index_E.any()
    assert trace.chosen_E[0, 12].tolist() == [True, True, False, False]


@pytest.mark.parametrize("config", OF_POOLED.values(), ids=OF_POOLED)
@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_in_16_bits_it_is_as_near_as_16_bits_are(config, dtype, most):
    """With every entry chosen: scores that round alike may choose others."""
    every = replace(config, index_topk=config.index_topk and 100)
    narrow = layer_of(every, dtype=dtype)
    exact = layer_of(every)
    for name, parameter in narrow.named_parameters():
        exact.get_parameter(name).copy_(parameter)
    h = hidden(2, 13, 10, dtype=dtype)
    trace = narrow(h)
    assert {getattr(trace, name).dtype for name in ("u", "attention", "sink_mass")} == {dtype}
    assert relative(trace.u, exact(h.double()).u) < most
    _, held = narrow.decode(h[:, :6], narrow.empty_cache(PooledCache, 2))
    after, _ = narrow.decode(h[:, 6:], held)
    assert relative(after.u, exact(h.double()).u[:, 6:]) < most


def test_a_rotation_that_changes_with_the_length_is_refused_where_entries_keep_theirs():
    rope = RopeConfig(scaling=SCALING)
    with refused("LongRoPE", "another scaling"):
        replace(CSA, rope=rope)
    assert replace(SWA, rope=rope).rotation == rope
