"""Decoding DSA against its prefill: every cut, both forms, shared choices, real caches."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import IndexedCache, KVCache, LatentCache, LatentConfig
from tests.engine.indexed_samples import DSA, PLAIN, indexed_configs, layer_of
from tests.engine.samples import hidden, refused

TOKENS = 12
MLA = LatentConfig(d_model=10, n_heads=3, d_head=4, d_latent_kv=5)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
forms = pytest.mark.parametrize("form", ["absorbed", "expanded"])
FORWARD = {"absorbed": "forward_absorbed", "expanded": "forward"}


def decoded(layer, h, lengths, form=None, capacity=None):
    """u and the choice of all tokens, decoded in pieces of these lengths, and the cache."""
    cache = IndexedCache.empty(layer.config, len(h), layer.dtype, capacity=capacity)
    traces = []
    for piece in h.split(lengths, dim=1):
        trace, cache = layer.decode(piece, cache, form=form)
        traces.append(trace)
    return torch.cat([trace.u for trace in traces], dim=1), traces, cache


@forms
@pytest.mark.parametrize("config", [DSA, PLAIN], ids=["DSA", "plain"])
@pytest.mark.parametrize("cut", range(1, TOKENS))
def test_every_cut_gives_what_prefill_gives(config, form, cut):
    layer, h = layer_of(config), hidden(2, TOKENS, 10)
    whole = getattr(layer, FORWARD[form])(h)
    u, (first, second), cache = decoded(layer, h, [cut, TOKENS - cut], form)
    torch.testing.assert_close(u, whole.u, **CLOSE)
    assert torch.equal(second.chosen, whole.chosen[:, cut:])
    torch.testing.assert_close(second.attention, whole.attention[:, :, cut:], **CLOSE)
    torch.testing.assert_close(second.left_out, whole.left_out[:, :, cut:], **CLOSE)
    torch.testing.assert_close(cache.k_I, whole.k_I, **CLOSE)
    assert first.steps == second.steps == whole.steps


@forms
@settings(max_examples=15, deadline=None)
@given(config=indexed_configs(), cuts=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_any_configuration_decodes_as_it_prefills(form, config, cuts):
    layer, h = layer_of(config), hidden(1, sum(cuts), config.d_model)
    u, _, _ = decoded(layer, h, cuts, form)
    torch.testing.assert_close(u, getattr(layer, FORWARD[form])(h).u, **CLOSE)


@forms
def test_token_by_token_over_a_long_text_equals_its_prefill(form):
    """700 tokens of which 20 are chosen, in reserved memory."""
    layer, h = layer_of(replace(DSA, index_topk=20)), hidden(1, 700, 10)
    whole = getattr(layer, FORWARD[form])(h)
    for lengths in ([1] * 40 + [660], [699, 1], [350, 1, 349]):
        u, traces, cache = decoded(layer, h, lengths, form, capacity=700)
        torch.testing.assert_close(u, whole.u, rtol=1e-11, atol=1e-11)
        assert torch.equal(traces[-1].chosen, whole.chosen[:, -lengths[-1] :])
        assert cache.nbytes == cache.reserved_nbytes == 700 * 8 * (5 + 4 + 6)


def test_a_cache_holds_the_latent_its_rotary_key_and_one_index_key():
    layer = layer_of(DSA)
    _, _, cache = decoded(layer, hidden(2, 5, 10), [2, 3])
    assert {name: row.shape[2] for name, row in cache.buffers.items()} == {
        "c_KV": 5,
        "k_R": 4,
        "k_I": 6,
    }
    assert cache.nbytes == 2 * 5 * 8 * 15
    assert cache.prefix(3).k_I.shape[1] == 3


def test_two_continuations_of_a_cache_do_not_disturb_each_other():
    layer, h = layer_of(DSA), hidden(1, 8, 10)
    _, _, held = decoded(layer, h[:, :6], [6], capacity=8)
    one, _ = layer.decode(h[:, 6:7], held)
    layer.decode(2 * h[:, 6:7], held)
    again, _ = layer.decode(h[:, 6:7], held)
    assert torch.equal(one.u, again.u)
    assert held.length == 6


@forms
def test_a_layer_that_shares_a_choice_attends_as_the_one_that_chose(form):
    """Of equal weights it is the same layer, without indexer and without index keys."""
    layer, h = layer_of(DSA), hidden(2, TOKENS, 10)
    config = replace(DSA, index_shared=True)
    own = {n: p for n, p in layer.named_parameters() if "I" not in n}
    sharing = type(layer).of_weights(config, own, dtype=torch.float64)
    whole = getattr(layer, FORWARD[form])(h)
    same = getattr(sharing, FORWARD[form])(h, chosen=whole.chosen)
    assert torch.equal(same.u, whole.u)
    assert torch.equal(same.left_out, whole.left_out)
    gone = {"q_I_pre", "q_I", "w_I", "k_I_pre", "k_I_normed", "k_I", "scores_I", "index"}
    assert set(whole.steps) - set(same.steps) == gone
    cache, parts = IndexedCache.empty(config, 2, torch.float64), []
    for t in range(TOKENS):
        chosen = whole.chosen[:, t : t + 1, : t + 1]
        trace, cache = sharing.decode(h[:, t : t + 1], cache, form=form, chosen=chosen)
        parts.append(trace.u)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole.u, **CLOSE)
    assert cache.nbytes == 2 * TOKENS * 8 * (5 + 4)
    assert cache.k_I is None


def test_what_does_not_fit_is_refused_with_what_to_do():
    layer, h = layer_of(DSA), hidden(2, 4, 10)
    sharing = layer_of(replace(DSA, index_shared=True))
    chosen = layer(h).chosen
    with refused("shares the choice", "give chosen"):
        sharing(h)
    with refused("shares the choice"):
        sharing.decode(h, IndexedCache.empty(sharing.config, 2, torch.float64))
    with refused("chooses its keys itself", "leave chosen out"):
        layer(h, chosen=chosen)
    with refused("chosen has the shape [2, 4, 3]", "give bool [2, 4, 4]"):
        sharing(h, chosen=chosen[:, :, :3])
    with refused("torch.float64", "give bool [2, 1, 4]"):
        sharing(h, queries=slice(0, 1), chosen=chosen[:, :1].double())
    with refused("chosen", "a bool tensor of the chosen keys"):
        sharing(h, chosen=[[True]])
    with refused("cache", "IndexedCache"):
        layer.decode(h, LatentCache.empty(MLA, 2, torch.float64))
    with refused("form ('dense')"):
        layer.decode(h, IndexedCache.empty(DSA, 2, torch.float64), form="dense")
    with refused("config", "IndexedConfig"):
        IndexedCache.empty(MLA)
    with refused("the cache is for"):
        layer.decode(h, IndexedCache.empty(replace(DSA, index_topk=9), 2, torch.float64))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_index_heads": 0}, ("n_index_heads (0)", "at least 1")),
        ({"n_index_heads": 2.5}, ("n_index_heads (2.5)", "whole number")),
        ({"d_index": -3}, ("d_index (-3)", "at least 1")),
        ({"d_index": 3}, ("d_index (3) must be at least d_rope (4)", "try 4")),
        ({"index_topk": 0}, ("index_topk (0)", "at least 1")),
        ({"index_topk": True}, ("index_topk (True)", "whole number")),
        ({"index_pairing": "halves"}, ("index_pairing ('halves')", "'interleaved', 'half'")),
        ({"index_shared": 1}, ("index_shared (1)", "True or False")),
        ({"d_rope": 3}, ("d_rope (3) must be even", "try 4")),
    ],
)
def test_a_configuration_that_no_layer_can_have_is_refused(changes, words):
    with refused(*words):
        replace(DSA, **changes)


def test_a_cache_of_keys_and_values_is_not_its_own():
    with refused("cache", "IndexedCache"):
        layer_of(DSA).decode(hidden(1, 1, 10), KVCache.empty(DSA, dtype=torch.float64))
