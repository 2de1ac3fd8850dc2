"""Example sentences of Next word and Decode, measured at the published model where it is."""

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mla_engine.language_model.lens import guesses
from mla_engine.language_model.reading import read
from mla_engine.language_model.real import load_real
from tests.language_model.test_real_folder import FOLDER
from ui.pages.decode.sentences import EXAMPLES as DECODED
from ui.pages.language_model.real.sentences import EXAMPLES

NEXT = {  # the piece, its probability, after how many layers it is the guess and stays it
    "fact": (" Paris", 0.773, 30),
    "again": (" apple", 0.989, 30),
    "pronoun": (" her", 0.888, 26),
    "saying": (" away", 0.984, 27),
    "program": ("negative", 0.951, 30),
}
LOOKS = {  # of the layer that is shown: the head, the piece that it looks at, and how much
    "fact": (4, " France", 0.903),
    "again": (5, " apple", 0.968),
    "pronoun": (5, " girl", 0.856),
    "saying": (4, " keeps", 0.947),
    "program": (0, "positive", 0.978),
}

TOKENS = {"prose": 15, "digits": 29, "names": 30, "program": 12, "chinese": 31}


@pytest.fixture(scope="module")
def both():
    if not FOLDER.is_dir():
        pytest.skip(f"no model in {FOLDER.name}: the sentences were not measured")
    theirs = AutoModelForCausalLM.from_pretrained(
        FOLDER, dtype=torch.float32, attn_implementation="eager"
    )
    return load_real(FOLDER), theirs.eval(), AutoTokenizer.from_pretrained(FOLDER)


@torch.no_grad()
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_next_word_is_as_likely_as_transformers_says(both, name):
    ours, theirs, cut = both
    text = cut(EXAMPLES[name].text, return_tensors="pt").input_ids
    wanted = theirs(text).logits[0, -1].softmax(-1)
    found = read(ours, torch.tensor([ours.config.tokens(EXAMPLES[name].text)]))
    share, token = found.probabilities()[0, -1].max(-1)
    piece, probability, layers = NEXT[name]
    assert cut.decode([int(token)]) == piece
    assert float(share) == pytest.approx(float(wanted[token]), abs=1e-4)
    assert float(share) == pytest.approx(probability, abs=0.002)
    every = range(ours.config.n_layers + 1)
    said = guesses(ours, found, every, [text.shape[1] - 1]).tokens[:, 0]
    assert next(n for n in every if bool((said[n:] == token).all())) == layers


@torch.no_grad()
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_head_of_the_layer_looks_as_transformers_says(both, name):
    _, theirs, cut = both
    text = cut(EXAMPLES[name].text, return_tensors="pt").input_ids
    maps = theirs(text, output_attentions=True).attentions[EXAMPLES[name].shows["layer"]]
    row = maps[0, :, -1, 1:]
    head, key = divmod(int(row.argmax()), row.shape[1])
    assert (head, cut.decode(text[0, key + 1])) == LOOKS[name][:2]
    assert float(row[head, key]) == pytest.approx(LOOKS[name][2], abs=0.002)


def test_the_sentences_of_decode_take_few_and_many_tokens(both):
    ours, _, cut = both
    counted = {name: cut(one.text).input_ids for name, one in DECODED.items()}
    assert {name: len(ids) for name, ids in counted.items()} == TOKENS
    assert {name: ours.config.tokens(one.text) for name, one in DECODED.items()} == counted
