"""The language model as one graph of torch.compile, and exported, says what it says uncompiled."""

import pytest
import torch

from tests.engine.test_compiled import Call, in_one_graph
from tests.language_model.samples import ATTENTIONS, model, text

attentions = pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
SOME = [ATTENTIONS[name] for name in ("mla", "windowed")]
some = pytest.mark.parametrize("attention", SOME)


@attentions
def test_the_logits_are_one_graph(attention):
    decoder, tokens = model(attention), text()
    torch.testing.assert_close(in_one_graph(decoder.logits)(tokens), decoder.logits(tokens))


@some
def test_a_whole_trace_is_one_graph(attention):
    decoder, tokens = model(attention), text()
    trace, wanted = in_one_graph(decoder, "eager")(tokens), decoder(tokens)
    torch.testing.assert_close(trace.logits, wanted.logits)
    attention = trace.blocks[1].attention.attention
    torch.testing.assert_close(attention, wanted.blocks[1].attention.attention)


@some
def test_a_new_word_is_one_graph(attention):
    decoder, tokens = model(attention), text()
    step = in_one_graph(decoder.decode)
    _, caches = decoder.decode(tokens[:, :6], decoder.empty_caches(batch=2, capacity=9))
    trace, longer = step(tokens[:, 6:], caches)
    torch.testing.assert_close(trace.logits, decoder(tokens).logits[:, 6:])
    assert [cache.length for cache in longer] == [7, 7]


@pytest.mark.parametrize(("attention", "strict"), zip(SOME, (True, False), strict=True))
def test_the_logits_are_exported(attention, strict):
    decoder, tokens = model(attention), text()
    call = Call(decoder, type(decoder).logits)
    exported = torch.export.export(call, (tokens,), strict=strict).module()
    torch.testing.assert_close(exported(tokens.flip(0)), decoder.logits(tokens.flip(0)))


def test_a_whole_trace_is_exported():
    decoder, tokens = model(ATTENTIONS["mla"]), text()
    trace = torch.export.export(decoder, (tokens,), strict=False).module()(tokens.flip(0))
    assert type(trace) is type(decoder(tokens))
    torch.testing.assert_close(trace.logits, decoder(tokens.flip(0)).logits)
