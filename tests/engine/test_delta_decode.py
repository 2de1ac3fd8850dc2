"""The state of Kimi Delta Attention: every cut gives what one run gives, and nothing grows."""

import copy

import pytest
import torch

from mla_engine import DeltaCache, LatentCache, LatentConfig, budget, costs, estimate, timing
from mla_engine.budget import MemoryBudgetError
from mla_engine.heads import with_heads
from mla_engine.language_model import LanguageModel, ModelConfig
from tests.engine.delta_samples import CONFIGS, KDA, layer_of
from tests.engine.samples import hidden, refused
from tests.engine.test_budget import LiveBytes
from tests.engine.test_compiled import assert_same, in_one_graph

configs = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
forms = pytest.mark.parametrize("form", ["recurrent", "chunked"])
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
BY_TOKEN = ("q_D", "k_D", "v_D", "a", "b", "erased", "written", "o", "gate", "o_gated", "u")


def decoded(layer, h, cuts, form=None):
    """The traces of the pieces, and the cache behind them."""
    cache, traces = DeltaCache.empty(layer.config, len(h), h.dtype), []
    for piece in h.split(cuts, dim=1):
        trace, cache = layer.decode(piece, cache, form=form)
        traces.append(trace)
    return traces, cache


def assert_equals_whole(layer, h, cuts, form=None):
    whole, (traces, cache) = layer(h), decoded(layer, h, cuts, form)
    for name in BY_TOKEN:
        joined = torch.cat([getattr(trace, name) for trace in traces], dim=1)
        torch.testing.assert_close(joined, getattr(whole, name), **CLOSE)
    torch.testing.assert_close(cache.S, whole.S, **CLOSE)
    assert cache.length == h.shape[1]


@forms
@configs
@pytest.mark.parametrize("cuts", [(1,) * 12, (5, 7), (1, 2, 9), (11, 1), (3, 3, 3, 3)], ids=str)
def test_any_cut_gives_what_one_run_gives(config, cuts, form):
    assert_equals_whole(layer_of(config), hidden(2, 12, 10), cuts, form)


@pytest.mark.parametrize("tokens", [1, 2, 3, 63, 64, 65, 127, 129, 300, 700])
def test_a_prefill_of_up_to_700_tokens_can_be_cut_around_its_chunks(tokens):
    layer, h = layer_of(KDA), hidden(1, tokens, 10)
    near = (1, 2, 3, 4, 62, 63, 64, 65, 128, tokens // 2, tokens - 3, tokens - 1)
    for cut in sorted({one for one in near if 0 < one < tokens}):
        assert_equals_whole(layer, h, (cut, tokens - cut), "chunked")
    assert_equals_whole(layer, h[:, :20], (1,) * min(tokens, 20))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@configs
def test_the_bytes_that_are_kept_are_those_counted_and_never_more(config, dtype):
    layer = layer_of(config, dtype=dtype)
    counted = 2 * costs.fixed_bytes(config, dtype.itemsize)
    cache = DeltaCache.empty(config, batch=2, dtype=dtype, capacity=5)
    assert cache.S.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    for tokens in (1, 9, 70):
        assert cache.nbytes == cache.reserved_nbytes == counted
        _, cache = layer.decode(hidden(2, tokens, 10, dtype=dtype), cache)
    assert (cache.nbytes, cache.length) == (counted, 80)
    assert costs.cache_elements(config) == 0


def test_a_cache_stays_valid_and_two_continuations_do_not_disturb_each_other():
    layer, h = layer_of(KDA), hidden(1, 9, 10)
    _, held = decoded(layer, h[:, :5], 5)
    before = {name: buffer.clone() for name, buffer in held.buffers.items()}
    one, _ = layer.decode(h[:, 5:], held)
    layer.decode(-h[:, 5:], held)
    again, _ = layer.decode(h[:, 5:], copy.deepcopy(held))
    assert torch.equal(one.u, again.u)
    assert all(torch.equal(before[name], held.buffers[name]) for name in before)


def test_some_heads_decode_as_they_do_among_all():
    whole, h = layer_of(KDA), hidden(1, 6, 10)
    some = with_heads(whole, [2])
    cache = some.empty_cache(DeltaCache)
    assert cache.n_kv_heads == 1
    _, cache = some.decode(h[:, :4], cache)
    trace, cache = some.decode(h[:, 4:], cache)
    torch.testing.assert_close(trace.u, whole(h, heads=[2]).u[:, 4:], **CLOSE)
    assert 3 * cache.nbytes == whole.empty_cache(DeltaCache).nbytes


def test_a_decoder_of_such_layers_writes_word_by_word_what_it_reads_at_once():
    config = ModelConfig(words=tuple("abcde"), attention=KDA, n_layers=2, d_mlp=8, max_context=9)
    model = LanguageModel(config, dtype=torch.float64)
    tokens = torch.tensor([[1, 4, 2, 2, 0, 3]])
    whole, caches = model(tokens), model.empty_caches()
    for place in range(6):
        trace, caches = model.decode(tokens[:, place : place + 1], caches)
        torch.testing.assert_close(trace.logits[:, 0], whole.logits[:, place], **CLOSE)


def test_the_states_of_a_step_go_on_from_those_before():
    layer, h = layer_of(KDA), hidden(1, 9, 10)
    first, held = decoded(layer, h[:, :5], 5)
    later, _ = layer.decode(h[:, 5:], held)
    whole = layer.states(layer(h), head=1)
    parts = layer.states(first[0], head=1), layer.states(later, head=1, before=held)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **CLOSE)
    torch.testing.assert_close(whole[:, -1], layer(h).S[:, 1], **CLOSE)


@forms
@pytest.mark.parametrize("new", [1, 3, 70])
def test_a_step_holds_no_more_than_is_estimated_whatever_it_remembers(form, new, monkeypatch):
    layer = layer_of(KDA, dtype=torch.float32)
    h = hidden(2, new, 10, dtype=torch.float32)
    needed = []
    monkeypatch.setattr(budget, "require", lambda bytes_, *_: needed.append(bytes_))
    cache = DeltaCache.empty(KDA, 2)
    for held in (cache, cache.with_zeros(10**6)):
        needed.clear()
        with LiveBytes() as real:
            layer.decode(h, held, form=form)
        assert real.peak <= needed[-1]
    assert needed[-1] < 3 * real.peak
    tried = estimate._peak.cache_info().misses
    layer.decode(h, cache.with_zeros(7), form=form)
    assert estimate._peak.cache_info().misses == tried, "it is tried once, whatever is remembered"


def test_a_run_beyond_the_budget_is_refused(monkeypatch):
    layer, h = layer_of(KDA), hidden(1, 400, 10)
    trace = layer(h)
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    for call in (lambda: layer(h), lambda: layer.states(trace, head=0)):
        with pytest.raises(MemoryBudgetError):
            call()
    with pytest.raises(MemoryBudgetError, match="batch"):
        DeltaCache.empty(KDA, batch=1000)


def test_a_state_has_no_way_back():
    layer = layer_of(KDA)
    _, cache = decoded(layer, hidden(1, 4, 10), 4)
    assert cache.rewind(4) is cache.prefix(4) is cache
    for back in (cache.rewind, cache.prefix):
        with refused("a state cannot go back from 4 tokens to 3"):
            back(3)
    assert timing.step(layer, hidden(1, 1, 10), cache)()[1].length == 5


def test_refuses_caches_of_another_kind():
    layer = layer_of(KDA)
    mla = LatentConfig(d_model=10, n_heads=3, d_head=4, d_latent_kv=5)
    with refused("cache", "DeltaCache"):
        layer.decode(hidden(1, 1, 10), LatentCache.empty(mla, dtype=torch.float64))
    with refused("config", "DeltaConfig"):
        DeltaCache.empty(mla)
    with refused("form ('absorbed') must be one of 'recurrent', 'chunked'"):
        layer.decode(hidden(1, 1, 10), layer.empty_cache(DeltaCache), form="absorbed")


def test_a_step_as_one_compiled_graph_gives_the_same():
    layer, h = layer_of(KDA), hidden(2, 6, 10)
    _, held = layer.decode(h[:, :5], layer.empty_cache(DeltaCache, batch=2))
    trace, cache = in_one_graph(lambda x: layer.decode(x, held))(h[:, 5:])
    wanted, _ = layer.decode(h[:, 5:], held)
    assert_same(trace, wanted)
    assert cache.length == 6
