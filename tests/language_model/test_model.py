"""A whole decoder: its forms, its caches, its fused way and its gradients agree."""

import pickle
from copy import deepcopy

import pytest
import torch
from torch.nn.functional import cross_entropy

from mla_engine import mechanisms
from mla_engine.language_model import generate
from tests.engine.kinds import KDA, OF_POOLED
from tests.language_model.samples import ATTENTIONS, MLA, in_pieces, model, text


def loss(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


EVERY = ATTENTIONS | OF_POOLED | {"kda": KDA}


@pytest.mark.parametrize("attention", EVERY.values(), ids=EVERY)
def test_forms_caches_and_the_fused_way_give_one_result(attention):
    decoder, tokens = model(attention), text()
    whole = decoder(tokens).logits
    torch.testing.assert_close(decoder.logits(tokens), whole, rtol=0, atol=1e-10)
    mechanism = mechanisms.of(attention)
    for form in mechanism.forms:
        torch.testing.assert_close(decoder(tokens, form.name).logits, whole, rtol=0, atol=1e-10)
        for kind in form.decode:
            parts = in_pieces(decoder, tokens, (3, 1, 1, 2), kind, form.name)
            torch.testing.assert_close(parts, whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_gradients_of_every_form_and_of_the_fused_way_agree(attention):
    tokens, found = text(), []
    ways = [form.name for form in mechanisms.of(attention).forms]
    for way in (None, *ways):
        decoder = model(attention).requires_grad_(True)
        logits = decoder(tokens, way).logits if way else decoder.logits(tokens)
        loss(logits, tokens).backward()
        found.append({name: weight.grad for name, weight in decoder.named_parameters()})
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        for name, gradient in other.items():
            assert gradient.abs().max() > 0, name
            torch.testing.assert_close(gradient, found[0][name], rtol=0, atol=1e-10)


def test_the_trace_is_the_residual_stream_from_words_to_logits():
    decoder, tokens = model(MLA), text()
    trace = decoder(tokens)
    assert torch.equal(trace.embedded, decoder.W_E[tokens])
    x = trace.embedded
    for block, layer in zip(trace.blocks, decoder.blocks, strict=True):
        assert torch.equal(block.x, x)
        assert torch.equal(block.attention.h, layer.before_attention(x))
        torch.testing.assert_close(block.x_mid - x, block.attention.u)
        silu = block.gate / (1 + torch.exp(-block.gate))
        torch.testing.assert_close(block.hidden, silu * block.up)
        torch.testing.assert_close(block.x_out - block.x_mid, block.hidden @ layer.W_down.T)
        x = block.x_out
    rms = x / (x.square().mean(-1, keepdim=True) + decoder.config.norm_eps).sqrt()
    torch.testing.assert_close(trace.normed, rms)
    torch.testing.assert_close(trace.logits, rms @ decoder.W_E.T)
    cold, hot = trace.probabilities(0.5), trace.probabilities(2)
    torch.testing.assert_close(cold.sum(-1), torch.ones(tokens.shape).double())
    assert (cold.amax(-1) > hot.amax(-1)).all()


def test_layers_of_one_model_have_weights_of_their_own():
    first, second = model(MLA).blocks
    assert not torch.equal(first.attention.W_UK, second.attention.W_UK)
    assert not torch.equal(first.W_up, second.W_up)
    assert torch.equal(first.W_up, model(MLA).blocks[0].W_up)


@pytest.mark.parametrize("kind", ["latent", "kv"])
def test_words_are_the_likeliest_of_the_whole_text(kind):
    decoder, tokens = model(MLA), text(length=3)
    for step in generate(decoder, tokens, 5, cache=kind):
        likeliest = decoder(tokens).logits[:, -1].argmax(-1)
        assert torch.equal(step.token, likeliest)
        assert step.caches[0].length == tokens.shape[1]
        tokens = torch.cat((tokens, likeliest[:, None]), 1)


def test_draws_follow_the_probabilities_and_their_seed():
    decoder, tokens = model(MLA), text(batch=1).expand(4000, -1)
    probabilities = decoder(tokens[:1]).probabilities(1.5)[0, -1]
    (step,) = generate(decoder, tokens, 1, temperature=1.5, seed=2)
    (again,) = generate(decoder, tokens, 1, temperature=1.5, seed=2)
    assert torch.equal(step.token, again.token)
    shares = torch.bincount(step.token, minlength=len(probabilities)) / 4000
    assert (shares - probabilities).abs().max() < 4 * 0.5 / 4000**0.5  # four deviations


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (torch.tensor([1, 2]), r"shape \[2\]"),
        (torch.ones(1, 2), "float32"),
        (torch.empty(1, 0, dtype=torch.int64), r"shape \[1, 0\]"),
        (torch.tensor([[1, 16]]), "has 16, but the words go from 0 to 15"),
        (torch.tensor([[-1, 3]]), "has -1"),
    ],
)
def test_tokens_that_are_none_are_refused(tokens, said):
    with pytest.raises(ValueError, match=said):
        model(MLA)(tokens)


def test_a_copy_has_the_mechanism_that_there_is():
    decoder = model(MLA)
    for made in (deepcopy(decoder), pickle.loads(pickle.dumps(decoder))):
        assert made.mechanism is mechanisms.of(MLA)
        assert torch.equal(made.logits(text()), decoder.logits(text()))


def test_a_temperature_below_zero_is_refused():
    with pytest.raises(ValueError, match=r"temperature \(-1\)"):
        next(generate(model(MLA), text(), 1, temperature=-1))
