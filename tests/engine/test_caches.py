"""Caches of every mechanism hold what they should, and refuse what they cannot."""

from dataclasses import replace

import pytest
import torch
from torch.utils._pytree import tree_map

from mla_engine import costs, mechanisms
from tests.engine.kinds import CONFIGS, WAYS, ways
from tests.engine.samples import hidden, refused
from tests.engine.test_decode import close

pytestmark = pytest.mark.usefixtures("unmeasured")
ELEMENTS = {  # a token, counted by hand
    "MLA, latent": 5 + 4, "MLA, kv": 3 * (4 + 4 + 6), "MLA, plain, latent": 5,
    "MLA, plain, kv": 3 * (4 + 4), "GQA, kv": 2 * (4 + 6), "MQA, window, kv": 4 + 4,
    "GQA, sinks, kv": 2 * (4 + 4), "DSA, indexed": 5 + 4 + 6, "DSA, plain, indexed": 5 + 4,
}  # fmt: skip


def keeping(config):
    """The same without a window: our caches of keys and values drop none that has left it."""
    return replace(config, sliding_window=None) if "sliding_window" in vars(config) else config


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@ways
def test_bytes_are_those_counted_and_those_of_the_buffers(way, dtype):
    layer, size = way.layer(dtype), dtype.itemsize
    name = next(name for name, config in CONFIGS.items() if config is way.config)
    for capacity in (None, 16):
        cache = way.empty(capacity, dtype=dtype)
        for new in (1, 4, 8):
            _, cache = way.step(layer, hidden(2, new, 10, dtype=dtype), cache)
            held = 2 * costs.held_bytes(keeping(way.config), cache.length, size, way.kind)
            assert cache.nbytes == held
        reserved = sum(buffer.nbytes for buffer in cache.buffers.values())
        assert cache.reserved_nbytes == reserved
        if way.in_rows:
            each = 2 * size * ELEMENTS[f"{name}, {way.kind}"]
            assert (held, reserved) == (13 * each, (capacity or 13) * each)
        else:
            assert reserved == held


@ways
def test_a_cache_is_a_tree_of_its_tensors_and_comes_back(way):
    layer = way.layer()
    _, cache = way.step(layer, hidden(2, 7, 10), way.empty(8))
    again = tree_map(lambda part: part if part is None else part.clone(), cache)
    assert (type(again), again.length, again.config) == (type(cache), 7, way.config)
    assert again.buffers.keys() == cache.buffers.keys()
    new = hidden(2, 1, 10, seed=4)
    close(way.step(layer, new, again)[0].u, way.step(layer, new, cache)[0].u)
    if hasattr(cache, "capacity"):
        assert again.capacity == cache.capacity == 8


@ways
def test_what_is_not_its_own_is_refused(way):
    layer, h = way.layer(), hidden(2, 4, 10)
    own = mechanisms.of(way.config).caches
    others = {other.cache: other for other in WAYS.values() if other.cache not in own}
    for cache, other in others.items():
        extended = issubclass(cache, own)  # one that holds more
        with refused(*(("the cache is for",) if extended else ("cache", own[0].__name__))):
            layer.decode(h, cache.empty(other.config, 2, torch.float64))
        if way.kind != "kv" and not isinstance(other.config, type(way.config)):
            with refused("config", type(way.config).__name__):
                own[0].empty(other.config)
    with refused("form ('fused')"):
        layer.decode(h, way.empty(), form="fused")
    for other in CONFIGS.values():
        if type(other) is type(way.config) and other != way.config:
            with refused("the cache is for"):
                layer.decode(h, way.cache.empty(other, 2, torch.float64))


@ways
def test_there_is_no_step_beyond_the_room_and_no_way_back_where_rows_are_gone(way):
    layer, h = way.layer(), hidden(2, 4, 10)
    _, cache = way.step(layer, h, way.empty(6))
    if not cache.fixed:
        with refused("capacity (6) is too small for 4 tokens held and 4 new"):
            way.step(layer, h, cache)
    if way.in_rows:
        shorter = cache.prefix(3)
    else:
        for back in (cache.rewind, cache.prefix):
            assert back(4) is cache
            with refused("cannot go back", "3"):
                back(3)
        return
    whole = way.form.forward(layer, h)
    close(way.step(layer, h[:, 3:], shorter)[0].u, whole.u[:, 3:])
    close(way.step(layer, h[:, 2:], cache.rewind(2))[0].u, whole.u[:, 2:])
