"""Decoding against prefill, of every mechanism, form and cache: every cut, and what is kept."""

import copy
import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import SYMBOLS, mechanisms
from mla_engine.heads import with_heads
from tests.engine.kinds import (
    CSA,
    DRAWN,
    DSA,
    GLM,
    HCA,
    KDA,
    SWA,
    WAYS,
    Way,
    configs,
    drawn,
    layer_of,
    ways,
)
from tests.engine.samples import hidden, refused
from tests.sampling import many

pytestmark = pytest.mark.usefixtures("unmeasured")
TOKENS = 13
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
CUTS = [(cut, TOKENS - cut) for cut in range(1, TOKENS)]
CUTS += [(1,) * TOKENS, (5, 5, 3), (1, 2, 10), (3, 3, 3, 4)]
ROOM = {"growing": None, "reserved": 16}
rooms = pytest.mark.parametrize("capacity", ROOM.values(), ids=ROOM)
OF_CHUNKS = {"k_WY", "v_WY", "o_past", "o_near"}  # begin again with each piece
NEW = {  # what a step computes of only its own tokens, by the kind of cache
    "kv": {"c_KV", "k_R"},
    "pooled": {"c_E", "z_E", "c_IE", "z_IE", "gates", "gates_I"},
    "pooled_index": {"k_I", "z_IE", "gates_I"},
}


def poisoned(way, cache):
    """The cache with NaN in every reserved row that holds no token."""
    if way.in_rows:
        for buffer in cache.buffers.values():
            buffer[:, cache.length :] = torch.nan
    return cache


def close(got, wanted, name=""):
    quickly = got.shape == wanted.shape and got.is_floating_point()
    if not (quickly and torch.allclose(got, wanted, **CLOSE)):
        torch.testing.assert_close(got, wanted, **CLOSE, msg=lambda m: f"{name}: {m}")


def seen(way, name, letter, first, last):
    """Return the keys "s" or entries "i" that a step of tokens first to last has in a field."""
    new = name in NEW.get(way.kind, ()) or name.endswith(("_pre", "_normed"))
    if letter == "i":
        before, now = (n // way.config.pooling for n in (first, last))
        return slice(before if new else 0, now)
    drops = way.config.pooling is not None and not way.config.has_blocks
    window = way.config.window if drops else last
    return slice(first if new else max(0, first - window + 1), last)


def assert_rows_of(way, trace, whole, first, last):
    """Every field of a step holds what the whole run has for its tokens and what they can see."""
    assert trace.steps == whole.steps
    for name in set(trace.steps) - OF_CHUNKS:
        axes, wanted = SYMBOLS[name].axes.split(), getattr(whole, name)
        if name == "S" and last < whole.h.shape[1]:
            continue  # the whole run has only the last state
        for axis, letter in enumerate(axes):
            rows = slice(None)
            if letter == "t":
                rows = slice(first, last)
            elif letter == "s" or (letter == "i" and way.config.pooling is not None):
                rows = seen(way, name, letter, first, last)
            wanted = wanted[(slice(None),) * axis + (rows,)]
        close(getattr(trace, name), wanted, name)
    if hasattr(trace, "mask"):
        keys = seen(way, "attention", "s", first, last)
        assert torch.equal(trace.mask, whole.mask[first:last, keys])


def assert_kept(cache, whole):
    """The cache holds the last rows that the whole run has, or all of them."""
    for name in set(cache.buffers) & set(whole.steps):
        held, wanted = getattr(cache, name, cache.buffers[name]), getattr(whole, name)
        if name != "S":
            wanted = wanted[:, wanted.shape[1] - held.shape[1] :]
        close(held, wanted.reshape(held.shape), name)


def assert_pieces_of(way, layer, whole, lengths, empty):
    """Decoding in pieces of these lengths gives the whole run, and keeps what that would keep."""
    traces, cache = way.decoded(layer, whole.h, lengths, poisoned(way, empty))
    ends = itertools.accumulate(lengths, initial=0)
    for trace, (first, last) in zip(traces, itertools.pairwise(ends), strict=True):
        assert_rows_of(way, trace, whole, first, last)
    assert_kept(cache, whole)
    assert cache.length == sum(lengths)


@rooms
@ways
def test_every_cut_gives_what_prefill_gives(way, capacity):
    layer, h = way.layer(), hidden(2, TOKENS, 10)
    whole = way.form.forward(layer, h)
    for lengths in CUTS:
        assert_pieces_of(way, layer, whole, lengths, way.empty(capacity))


V4 = [
    (1,) * 30 + (670,),
    (699, 1),
    (3, 1, 300, 1, 1, 394),
    (127, 1, 1, 571),
    (512, 188),
    (128, 572),
]
LONG = {  # the configuration, the form, and cuts around the ends of blocks, windows and chunks
    "DSA": (replace(DSA, index_topk=20), "absorbed", [(1,) * 40 + (660,), (699, 1), (350, 1, 349)]),
    "CSA as in V4": (replace(CSA, window=128, pooling=4, index_topk=20), "pooled", V4),
    "HCA as in V4": (replace(HCA, window=128, pooling=128), "pooled", V4),
    "window as in V4": (replace(SWA, window=128), "pooled", V4),
    "GLM-5.3-Flash": (
        replace(GLM, pooling=16, index_topk=64), "absorbed",
        [(1,) * 20 + (280,), (299, 1), (15, 1, 1, 283), (7, 130, 163)],
    ),
    "KDA": (
        KDA, "chunked",
        [(1,) * 20 + (680,), *((cut, 700 - cut) for cut in (2, 63, 64, 65, 128, 350, 699))],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("config", "form", "cuts"), LONG.values(), ids=LONG)
def test_a_long_text_gives_what_prefill_gives(config, form, cuts):
    mechanism = mechanisms.of(config)
    way = Way(config, mechanism.form(form), mechanism.caches[0].kind)
    layer, h = way.layer(), hidden(1, sum(cuts[0]), 10)
    whole = way.form.forward(layer, h)
    for lengths in cuts:
        assert_pieces_of(way, layer, whole, lengths, way.empty(700, batch=1))


@drawn
@settings(max_examples=many(15, 60))
@given(data=st.data(), cuts=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_drawn_configurations_decode_as_they_prefill(key, data, cuts):
    config, tokens = data.draw(DRAWN[key]), sum(cuts)
    h = hidden(1, tokens, config.d_model)
    for form in mechanisms.of(config).forms:
        whole = form.forward(layer_of(config), h)
        for kind in form.decode:
            way = Way(config, form, kind)
            layer = way.layer()
            reserved = poisoned(way, way.empty(tokens, batch=1))
            traces, cache = way.decoded(layer, h, cuts, reserved)
            close(torch.cat([trace.u for trace in traces], dim=1), whole.u, kind)
            assert_kept(cache, whole)


@configs
def test_a_cache_is_decoded_in_the_form_that_is_declared_for_it(config):
    mechanism, layer = mechanisms.of(config), layer_of(config)
    for kind, name in mechanism.decoded_by.items():
        trace, _ = layer.decode(hidden(2, 3, 10), layer.empty_cache(mechanism.cache(kind), batch=2))
        assert type(trace) is mechanism.form(name).trace


@rooms
@ways
def test_continuations_do_not_disturb_each_other(way, capacity):
    layer, h = way.layer(), hidden(2, 6, 10)
    others = [hidden(2, 4, 10, seed=seed) for seed in (7, 8)]
    _, stem = way.step(layer, h, poisoned(way, way.empty(capacity)))
    apart = copy.deepcopy(stem)
    wanted = [way.form.forward(layer, torch.cat((h, other), dim=1)).u[:, 6:] for other in others]
    branches = [stem, stem]
    for token in range(4):  # in turns, so that each could overwrite the other
        rows = slice(token, token + 1)
        for i, other in enumerate(others):
            trace, branches[i] = way.step(layer, other[:, rows], branches[i])
            close(trace.u, wanted[i][:, rows])
    assert stem.length == 6
    for cache in (stem, apart):
        close(way.step(layer, others[0], cache)[0].u, wanted[0])


@ways
def test_a_layer_of_some_heads_decodes_them(way):
    whole, h = way.layer(), hidden(2, TOKENS, 10)
    wanted, some = way.form.forward(whole, h, heads=[2, 0]), with_heads(whole, [2, 0])
    traces, cache = way.decoded(some, h, [5, 8])
    close(torch.cat([trace.u for trace in traces], dim=1), wanted.u)
    if cache.per_head:
        assert cache.n_kv_heads == len(some.kv_heads)


@ways
def test_positions_continue_from_the_cache_or_are_given_and_may_jump(way):
    layer, h, cache = way.layer(), hidden(2, TOKENS, 10), None
    positions = torch.cat((torch.arange(40, 46), torch.arange(70, 77)))
    whole, cache = way.form.forward(layer, h, positions=positions), way.empty()
    for rows in (slice(0, 5), slice(5, 6), slice(6, None)):
        trace, cache = way.step(layer, h[:, rows], cache, positions=positions[rows])
        close(trace.u, whole.u[:, rows])


CHOOSING = {name: way for name, way in WAYS.items() if way.config in (DSA, GLM)}
OF_INDEX = {
    "indexed": {"q_I_pre", "q_I", "w_I", "k_I_pre", "k_I_normed", "k_I", "scores_I", "index"},
    "pooled_index": {"q_I", "w_I", "k_I_pre", "k_I", "z_IE", "members", "gates_I", "k_E",
                     "scores_IE", "index_E", "chosen_E"},
}  # fmt: skip


@pytest.mark.parametrize("way", CHOOSING.values(), ids=CHOOSING)
def test_a_layer_that_shares_a_choice_attends_as_the_one_that_chose(way):
    """With equal weights it is the same layer, without indexer and without index keys."""
    layer, h, run = way.layer(), hidden(2, TOKENS, 10), way.form.forward
    config = replace(way.config, index_shared=True)
    own = {name: p for name, p in layer.named_parameters() if "I" not in name}
    sharing, whole = type(layer).of_weights(config, own, dtype=torch.float64), run(layer, h)
    same = run(sharing, h, chosen=whole.chosen)
    assert torch.equal(same.u, whole.u)
    assert torch.equal(same.left_out, whole.left_out)
    assert set(whole.steps) - set(same.steps) == OF_INDEX[way.kind]
    cache, parts = sharing.empty_cache(way.cache, batch=2), []
    for t in range(TOKENS):
        chosen = whole.chosen[:, t : t + 1, : t + 1]
        trace, cache = way.step(sharing, h[:, t : t + 1], cache, chosen=chosen)
        parts.append(trace.u)
    close(torch.cat(parts, dim=1), whole.u)
    assert cache.nbytes == 2 * TOKENS * 8 * (5 + config.d_rope)
    with refused("shares the choice", "give chosen"):
        run(sharing, h)
    with refused("shares the choice"):
        way.step(sharing, h, sharing.empty_cache(way.cache, batch=2))
    with refused("chooses its keys itself", "leave chosen out"):
        run(layer, h, chosen=whole.chosen)
