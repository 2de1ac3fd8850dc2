"""Kimi Delta Attention: form against form, what a state forgets and erases, and its glossary."""

from dataclasses import replace

import pytest
import torch

from mla_engine import DeltaCache, timing
from tests.engine.kinds import FULL_KDA, KDA, OF_DELTA, layer_of
from tests.engine.samples import hidden, refused

pytestmark = pytest.mark.usefixtures("unmeasured")
FORMS = ("forward", "forward_recurrent")
forms = pytest.mark.parametrize("form", FORMS)
configs = pytest.mark.parametrize("config", OF_DELTA.values(), ids=OF_DELTA)
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@configs
@pytest.mark.parametrize("tokens", [63, 64, 65, 200])
def test_whole_chunks_give_what_single_tokens_give(config, tokens):
    layer, h = layer_of(config), hidden(2, tokens, 10)
    ours, other = layer(h), layer.forward_recurrent(h)
    for name in other.steps:
        torch.testing.assert_close(getattr(ours, name), getattr(other, name), **EXACT)


def test_a_strong_decay_forgets_in_both_forms_without_overflow():
    """Decays of e^-300 a token: their inverse is no number of float32."""
    layer = layer_of(FULL_KDA, dtype=torch.float32)
    layer.A_log.fill_(3.0)
    layer.b_A.fill_(15.0)
    h = hidden(1, 80, 10, dtype=torch.float32)
    ours, other = layer(h), layer.forward_recurrent(h)
    assert ours.log_a.max() < -100
    torch.testing.assert_close(ours.u, other.u, rtol=1e-5, atol=1e-6)
    lone = torch.einsum("bthk,bthv->bthkv", ours.k_D, ours.written)[:, -1]
    torch.testing.assert_close(ours.S, lone, rtol=1e-5, atol=1e-6)


def test_what_a_write_erases_is_what_the_state_held_along_its_key():
    """With b = 1/2 and no decay: half of the half that the first write left there."""
    layer = layer_of(replace(FULL_KDA, conv_width=1))
    layer.W_UA.zero_()
    layer.b_A.fill_(-40.0)  # nothing decays
    layer.W_B.zero_()
    h = hidden(1, 1, 10).expand(1, 2, 10)
    trace = layer.forward_recurrent(h)
    assert torch.equal(trace.b, torch.full_like(trace.b, 0.5))
    length = trace.k_D.square().sum(-1, keepdim=True)[:, 0]
    torch.testing.assert_close(trace.erased[:, 1], 0.25 * length * trace.v_D[:, 1], **EXACT)
    assert not trace.erased[:, 0].any()


def test_refuses_inputs_that_do_not_fit():
    layer = layer_of(KDA, dtype=torch.float32)
    with refused("h"):
        layer(hidden(1, 3, 9, dtype=torch.float32))
    with refused("positions"):
        layer(hidden(1, 3, 10, dtype=torch.float32), positions=[0, 1])
    with refused("heads has 7"):
        layer.states(layer(hidden(1, 3, 10, dtype=torch.float32)), head=7)


def test_the_states_of_a_step_go_on_from_those_before():
    layer, h = layer_of(KDA), hidden(1, 9, 10)
    first, held = layer.decode(h[:, :5], layer.empty_cache(DeltaCache))
    later, _ = layer.decode(h[:, 5:], held)
    whole = layer.states(layer(h), head=1)
    parts = layer.states(first, head=1), layer.states(later, head=1, before=held)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **EXACT)
    torch.testing.assert_close(whole[:, -1], layer(h).S[:, 1], **EXACT)


def test_a_state_is_in_float32_beside_narrower_numbers_and_is_one_step_longer_when_timed():
    for dtype, of_state in ((torch.bfloat16, torch.float32), (torch.float64, torch.float64)):
        assert DeltaCache.empty(KDA, dtype=dtype).S.dtype == of_state
    layer = layer_of(KDA)
    _, cache = layer.decode(hidden(1, 4, 10), layer.empty_cache(DeltaCache))
    assert timing.step(layer, hidden(1, 1, 10), cache)()[1].length == 5
