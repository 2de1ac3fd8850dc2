"""The stream read after each layer is transformers' own hidden state through its norm and head."""

import pytest
import torch

from mla_engine.language_model.lens import guesses, read_out, shares_after
from mla_engine.language_model.reading import read
from mla_engine.language_model.real import load_real
from tests.checkpoints.models import built
from tests.checkpoints.texts import IDS, add_tokenizer
from tests.engine.samples import refused

LAYERS, PLACES, TEMPERATURE = 2, (0, 3, 5), 0.7
TOKENS = torch.tensor([IDS])


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lens")
    built("llama").save_pretrained(folder)
    model = load_real(add_tokenizer(folder))
    return model, read(model, TOKENS)


@pytest.fixture(scope="module")
@torch.no_grad()
def wanted():
    """Probabilities [layers + 1, t, n] after each layer, the last ones of its own output."""
    theirs = built("llama")
    run = theirs(TOKENS, output_hidden_states=True, use_cache=False)
    early = [theirs.lm_head(theirs.model.norm(x))[0] for x in run.hidden_states[:LAYERS]]
    return (torch.stack([*early, run.logits[0]]) / TEMPERATURE).softmax(-1)


def test_what_is_read_is_the_norm_and_the_head_of_each_hidden_state(ours, wanted):
    for after in ((2, 0), (1,), (2,)):
        found = read_out(*ours, after, PLACES, TEMPERATURE)
        torch.testing.assert_close(found, wanted[list(after)][:, list(PLACES)])


def test_the_likeliest_pieces_and_some_through_all_layers(ours, wanted):
    found = guesses(*ours, (0, 1, 2), PLACES, TEMPERATURE)
    best = wanted[:, list(PLACES)].max(-1)
    assert found.tokens.equal(best.indices)
    torch.testing.assert_close(found.shares, best.values)
    some = shares_after(*ours, 4, (7, 1), TEMPERATURE)
    torch.testing.assert_close(some, wanted[:, 4, [7, 1]])


def test_a_layer_that_there_is_not_is_refused(ours):
    for after in (-1, LAYERS + 1):
        with refused("after", after):
            read_out(*ours, (after,), PLACES)
