"""The memory that visitors leave: one budget for all of it, keys in sessions, weights once."""

import gc
import threading
from functools import partial
from weakref import WeakValueDictionary, ref

import numpy as np
import pandas as pd
import pytest
import streamlit as st
import torch

from mla_engine import PRESETS, GroupedConfig, GroupedQueryAttention
from tests.attacks.server import wait_until
from tests.clock import Clock
from tests.ui.conftest import noted_downloads, open_page
from ui.engine import queue, shared_cache
from ui.engine.footprint import FLOOR, footprint
from ui.engine.shared_cache import SharedCache
from ui.pages.decode.run import most_heads, n_bytes
from ui.parts.maps.run import run
from ui.parts.ways import Way
from ui.sources import Drawn, layers

KIB = 2**10


def array(kibibytes: int) -> np.ndarray:
    return np.zeros(kibibytes * KIB, np.uint8)


# What is counted


def test_memory_that_several_share_counts_once():
    whole = torch.zeros(16 * KIB)
    assert 64 * KIB <= footprint({"one": whole, "two": [whole[:3], whole.numpy()]}) < 67 * KIB
    assert 128 * KIB <= footprint((whole, whole.clone())) < 131 * KIB


def test_a_view_counts_all_that_it_is_cut_from():
    assert footprint(array(64)[:1]) >= 64 * KIB
    assert footprint(torch.zeros(16 * KIB)[:1].numpy()) >= 64 * KIB


def test_a_layer_counts_its_parameters():
    config = GroupedConfig(d_model=64, n_heads=4, n_kv_heads=2, d_head=16)
    layer = GroupedQueryAttention(config)
    parameters = sum(p.nbytes for p in layer.parameters())
    assert parameters == layers.n_bytes(config, None)
    assert parameters <= footprint(layer) < parameters + 64 * KIB
    assert footprint(GroupedQueryAttention(config, device="meta")) < 64 * KIB


def test_what_a_function_holds_counts():
    table = pd.DataFrame({"a": np.zeros(8 * KIB)})
    held = [partial(np.sum, table), table.reset_index, lambda: table, lambda t=table: t]
    assert all(64 * KIB <= footprint(one) < 80 * KIB for one in held)


# The cache


def test_the_least_lately_used_goes_where_room_is_needed():
    cache = SharedCache(100 * KIB, 60)
    for key in "abc":
        cache.get(key, partial(array, 30))
    cache.get("a", pytest.fail)
    assert 90 * KIB <= cache.held_bytes <= 100 * KIB
    cache.get("d", partial(array, 30))
    assert 90 * KIB <= cache.held_bytes <= 100 * KIB
    cache.get("a", pytest.fail)
    made = []
    cache.get("b", partial(made.append, 1))
    assert made, "b has gone"


def test_room_is_made_before_a_value_is():
    cache = SharedCache(100 * KIB, 60)
    dying = [ref(cache.get(key, partial(array, 30))) for key in "abc"]
    cache.evict_for(60 * KIB)
    assert [one() is None for one in dying] == [True, True, False]
    assert cache.held_bytes + 60 * KIB <= 100 * KIB


def test_what_is_larger_than_the_budget_is_given_and_not_kept():
    cache, held = SharedCache(100 * KIB, 60), []
    cache.get("small", partial(array, 30))
    assert cache.get("large", partial(array, 200)).nbytes == 200 * KIB
    assert cache.held_bytes < 40 * KIB
    cache.get("small", partial(held.append, "made again"))
    assert not held


def test_what_nobody_uses_goes_when_its_time_is_over():
    clock = Clock()
    cache = SharedCache(100 * KIB, 10, clock)
    used, unused = (ref(cache.get(key, partial(array, 8))) for key in ("used", "unused"))
    clock.now += 6
    cache.get("used", pytest.fail)
    clock.now += 5
    cache.expire()
    assert unused() is None
    assert used() is not None
    assert cache.held_bytes == 8 * KIB + FLOOR + footprint_of_nothing()
    clock.now += 5
    cache.expire()
    assert used() is None
    assert cache.held_bytes == 0


def footprint_of_nothing() -> int:
    """Return the bytes of an array's place beside its numbers and the floor."""
    return footprint(np.zeros(0, np.uint8)) - FLOOR


def test_two_who_ask_at_once_have_it_made_once():
    cache, made, go = SharedCache(100 * KIB, 60), [], threading.Event()

    def slow() -> object:
        made.append(object())
        go.wait()
        return made[-1]

    found = []
    asking = [threading.Thread(target=lambda: found.append(cache.get("a", slow))) for _ in "123"]
    for thread in asking:
        thread.start()
    wait_until(lambda: made, "one makes it")  # the others may come now or later
    assert cache.get("b", lambda: "another key waits for nobody") == "another key waits for nobody"
    go.set()
    for thread in asking:
        thread.join()
    assert found == made * 3


def test_an_error_is_not_kept():
    cache = SharedCache(100 * KIB, 60)

    def refused() -> None:
        raise ValueError("this once")

    with pytest.raises(ValueError, match="this once"):
        cache.get("a", refused)
    assert cache.get("a", lambda: 7) == 7


def test_equal_arguments_of_other_types_are_other_keys():
    @shared_cache.cached
    def kind(value: object) -> str:
        return type(value).__name__

    assert [kind(one) for one in (1, True, 1.0)] == ["int", "bool", "float"]


def test_a_value_as_large_as_the_budget_is_kept_and_counted():
    value = b"x" * 1000
    cache = SharedCache(footprint(value), 60.0)
    assert [cache.get("a", lambda: value) for _ in range(3)] == [value] * 3
    assert (cache.hits, cache.misses) == (2, 1)
    assert cache.held_bytes == cache.budget_bytes


def test_one_page_needs_half_of_the_budget_at_most():
    assert shared_cache.page_budget_bytes() == shared_cache.cache().budget_bytes // 2


def test_arguments_by_name_are_part_of_the_key():
    @shared_cache.cached
    def twice(value: int, *, times: int = 2) -> int:
        return times * value

    assert [twice(3), twice(3, times=5), twice(3, times=7), twice(value=4)] == [6, 15, 21, 8]


def test_two_functions_keep_the_results_of_the_same_arguments_apart():
    @shared_cache.cached
    def up(value: int) -> int:
        return value + 1

    @shared_cache.cached
    def down(value: int) -> int:
        return value - 1

    assert [up(3), down(3), up.peek(3), down.peek(3)] == [4, 2, 4, 2]
    up.clear()
    assert [up.peek(3), down.peek(3)] == [None, 2]


# What a session holds

WORDS = tuple(f"w{n}" for n in range(200))


def test_weights_go_although_a_session_still_holds_its_run():
    config = GroupedConfig(d_model=512, n_heads=4, n_kv_heads=2, d_head=16)
    held = run(config, "grouped", WORDS, Drawn(77), (0, 1, 2, 3))
    weights = held.matrix("W_Q", 2)
    layer = ref(held.layer)
    result = ref(held.logits)
    shared_cache.clear()
    gc.collect()
    assert layer() is None
    assert result() is None
    assert footprint(held) < 64 * KIB < footprint(weights)
    np.testing.assert_array_equal(held.matrix("W_Q", 2), weights)


LONG = {"map_generated": "200", "preset": "small"}
HEAVY = {
    "attention_maps": LONG | {"map_tensor": "W_DQ", "d_model": "512", "d_latent_q": "512"},
    "compare": LONG | {"vs_view": "maps"},
    "absorption": {"preset": "small", "d_model": "2048", "d_latent_q": "512"},
    "rope": {"preset": "small", "rope_topic": "scale", "d_model": "2048"},
    "decode": {"preset": "small", "d_model": "2048"},
    "compression": {"preset": "small", "d_model": "2048"},
}


@pytest.mark.parametrize("page", HEAVY)
def test_a_session_holds_keys_and_no_arrays(page):
    st.cache_resource.clear()
    with pytest.MonkeyPatch.context() as patch:
        files = noted_downloads(patch)
        at = open_page(f"pages/{page}.py", **HEAVY[page])
    assert files
    assert shared_cache.cache().held_bytes > 256 * KIB, "the page has run something"
    large = {name: footprint(data) for name, data in files.items() if footprint(data) > 64 * KIB}
    assert not large
    assert footprint(at.session_state._state) < 256 * KIB, "what its widgets call back, too"


def tensors() -> list[torch.Tensor]:
    """All that hold data."""
    gc.collect()
    found = [one for one in gc.get_objects() if isinstance(one, torch.Tensor)]
    return [tensor for tensor in found if tensor.device.type != "meta"]


def live_bytes(known: WeakValueDictionary) -> int:
    """Return the bytes of all tensors beside those that are known."""
    new = [tensor for tensor in tensors() if known.get(id(tensor)) is not tensor]
    return sum({t.data_ptr(): t.untyped_storage().nbytes() for t in new}.values())


BUDGET = 8 * 2**20
VISITS = {
    "decode": {"dec_heads": "4", "d_model": "512", "d_head": "64"},
    "attention_maps": {"map_run": "4", "map_generated": "128", "d_model": "512", "d_head": "64"},
}


@pytest.mark.parametrize("page", VISITS)
def test_visit_after_visit_stays_within_the_budget(page, monkeypatch):
    monkeypatch.setenv("MLA_CACHE_BUDGET_GIB", str(BUDGET / 2**30))
    st.cache_resource.clear()
    before, seen = WeakValueDictionary({id(t): t for t in tensors()}), []
    for seed in range(4):
        open_page(f"pages/{page}.py", preset="small", seed=str(seed), **VISITS[page])
        seen.append(live_bytes(before))
    st.cache_resource.clear()
    assert max(seen) <= BUDGET
    assert seen[-1] > BUDGET / 8, "what was run last is kept"
    assert live_bytes(before) < 256 * KIB, "and nothing holds it but the cache"


def test_no_link_has_more_heads_decoded_than_can_be_kept():
    v3 = PRESETS["deepseek-v3"].config
    mha = GroupedConfig(d_model=7168, n_heads=128, n_kv_heads=128, d_head=128)
    ways = {"mha": Way(mha, "grouped", "kv"), "mla": Way(v3, "absorbed", "latent")}
    most = most_heads(ways, 1024)
    assert n_bytes(ways.values(), most, 1024) <= shared_cache.page_budget_bytes()
    assert n_bytes(ways.values(), most + 1, 1024) > shared_cache.page_budget_bytes()
    weights = [layers.n_bytes(way.config, range(most)) for way in ways.values()]
    assert sum(weights) < n_bytes(ways.values(), most, 1024)


def test_who_waits_for_his_turn_holds_no_layer(monkeypatch):
    config = GroupedConfig(d_model=512, n_heads=4, n_kv_heads=4, d_head=64)
    one = layers.n_bytes(config, None)
    monkeypatch.setenv("MLA_CACHE_BUDGET_GIB", str(1.5 * one / 2**30))
    st.cache_resource.clear()
    monkeypatch.setattr(queue._queue(), "_clock", lambda: 0.0)  # a turn that lasts 0.2 s is shared
    made, alive, build = [], [], Drawn.attention

    def built(*args: object) -> object:
        made.append(ref(layer := build(*args)))
        alive.append(sum(other() is not None for other in made))
        return layer

    monkeypatch.setattr(Drawn, "attention", built)
    asking = [
        threading.Thread(target=run, args=(config, "grouped", WORDS[:8], Drawn(seed), (0, 1, 2, 3)))
        for seed in range(5)
    ]
    with queue.turn():
        for thread in asking:
            thread.start()
        wait_until(lambda: waiting() == len(asking), "all wait")
    for thread in asking:
        thread.join()
    st.cache_resource.clear()
    assert alive == [1] * 5, "each has gone when the next is built"


def waiting() -> int:
    """Count those in the line behind the one whose turn it is."""
    return len(queue._queue()._line) - 1
