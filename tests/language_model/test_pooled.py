"""A language model over a window and pooled entries: from prompt to next word, and what is cut."""

import pytest
import torch

from mla_engine.language_model import LanguageModel, ModelConfig
from mla_engine.language_model.cuts import TopKeys
from tests.engine.kinds import OF_POOLED
from tests.engine.samples import refused
from tests.language_model.samples import in_pieces


def model_of(config):
    words = tuple("abcd")
    return LanguageModel(
        ModelConfig(words=words, attention=config, n_layers=2, d_mlp=8, max_context=32)
    )


@pytest.mark.parametrize("config", OF_POOLED.values(), ids=OF_POOLED)
def test_it_writes_word_by_word_what_it_says_at_once(config):
    model, tokens = model_of(config), torch.arange(13).remainder(4)[None]
    whole, parts = model(tokens).logits, in_pieces(model, tokens, [5, 1, 1, 6])
    torch.testing.assert_close(parts, whole, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.logits(tokens), whole)


def test_its_top_keys_are_not_cut_out():
    with refused("reads keys alone", "attention to pooled entries", "cut a head"):
        TopKeys(model_of(OF_POOLED["CSA"]), 2)
