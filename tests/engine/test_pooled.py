"""CSA, HCA and windows in 16 bits, with equal index scores, and as a cache grows."""

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


def test_what_a_cache_holds_as_it_grows():
    """Tokens in the window, waiting, given ahead, and entries, token by token."""
    layer, h, cache = layer_of(CSA), hidden(2, 8, 10), PooledCache.empty(CSA, 2, torch.float64)
    rows = []
    for piece in h.split(1, dim=1):
        _, cache = layer.decode(piece, cache)
        names = ("kv_T", "c_E", "c_ahead", "kv_E", "k_E")
        rows.append(tuple(cache.buffers[name].shape[1] for name in names))
    assert rows == [
        (1, 1, 0, 0, 0), (2, 2, 0, 0, 0), (3, 0, 3, 1, 1), (3, 1, 3, 1, 1),
        (3, 2, 3, 1, 1), (3, 0, 3, 2, 2), (3, 1, 3, 2, 2), (3, 2, 3, 2, 2),
    ]  # fmt: skip
    of_keys = 3 * 6 + 2 * 6 + 2 * (2 * 2 * 6) + 2 * (3 * 6)
    of_index = 2 * 5 + 2 * (2 * 2 * 5) + 2 * (3 * 5)
    assert cache.nbytes == cache.reserved_nbytes == 2 * 8 * (of_keys + of_index)


def test_a_rotation_that_changes_with_the_length_is_refused_where_entries_keep_theirs():
    rope = RopeConfig(scaling=SCALING)
    with refused("LongRoPE", "another scaling"):
        replace(CSA, rope=rope)
    assert replace(SWA, rope=rope).rotation == rope
