"""The scores of heads in any text, against counts entry by entry of transformers' own maps."""

import pytest
import torch

from mla_engine.language_model.reading import read
from mla_engine.language_model.real import load_real
from mla_engine.language_model.text_heads import (
    KINDS,
    repeat_scores,
    repeats,
    sentence_scores,
)
from tests.checkpoints.models import built
from tests.checkpoints.texts import WORDS, folder_of

SAID = ["the", "cat", "and", "the", "moon", "and", "the", "cat", "sea", "the"]
TOKENS = [WORDS[word] for word in SAID]
IS_LOOK = {  # query, key, tokens -> whether the key is of the kind
    "previous": lambda q, k, text: k == q - 1,
    "induction": lambda q, k, text: text[k - 1] == text[q],
    "same": lambda q, k, text: text[k] == text[q] and k != q,
    "first": lambda q, k, text: k == 0,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_real(folder_of("llama", tmp_path_factory.mktemp("models")))


def maps_of(text):
    with torch.no_grad():
        run = built("llama")(torch.tensor([text]), output_attentions=True, use_cache=False)
    return torch.stack(run.attentions)[:, 0].double()


def counted(kind, texts):
    """The mean share over the queries that see such a key, and that of an even look."""
    shares, even = [], []
    for text in texts:
        maps = maps_of(text)
        for query in range(1, len(text)):
            places = range(1 if kind != "first" else 0, query + 1)
            keys = [key for key in places if IS_LOOK[kind](query, key, text)]
            keys = [key for key in keys if key != query]
            if keys:
                shares.append(maps[:, :, query, keys].sum(-1))
                even.append(len(keys) / (query + 1))
    return torch.stack(shares).mean(0), sum(even) / len(even)


def holds(scores, texts):
    assert scores.kinds == KINDS
    for place, kind in enumerate(KINDS):
        table, even = counted(kind, texts)
        torch.testing.assert_close(scores.table[..., place], table, atol=1e-6, rtol=0)
        assert float(scores.even[place]) == pytest.approx(even)


def test_a_sentence_is_scored_by_what_its_maps_say(model):
    read_twice = torch.tensor([TOKENS[::-1], TOKENS])
    holds(sentence_scores(read(model, read_twice), place=1), [TOKENS])


def test_kinds_that_a_sentence_has_no_place_for_have_no_score(model):
    tokens = torch.tensor([[WORDS[word] for word in ("the", "cat", "and")]])
    assert sentence_scores(read(model, tokens)).kinds == ("previous", "first")


def test_fresh_texts_are_scored_by_what_their_maps_say(model):
    texts = repeats(len(model.config.words), count=2, seed=5)
    holds(repeat_scores(model, count=2, seed=5), texts.tolist())


def test_a_fresh_text_says_each_of_its_tokens_twice():
    for text in repeats(40, count=3, length=16).tolist():
        assert text[:16] == text[16:]
        assert len(set(text)) == 16
    assert not repeats(40, seed=0).equal(repeats(40, seed=1))


def test_one_token_alone_has_no_score_and_no_head_a_name(model):
    scores = sentence_scores(read(model, torch.tensor([TOKENS[:1]])))
    assert scores.kinds == ()
    assert scores.names() == ((None,) * 6,) * 2
