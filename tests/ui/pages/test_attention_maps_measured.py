"""Example sentences of the page, measured on the app's own real model where it is there."""

import pytest
import torch

from mla_engine.checkpoints.real_model import FOLDER
from mla_engine.language_model.reading import Reading, read
from mla_engine.language_model.real import RealModel, load_real
from mla_engine.language_model.text_heads import sentence_scores
from ui import ROOT
from ui.pages.attention_maps.sentences import EXAMPLES

WHERE = ROOT / FOLDER
pytestmark = pytest.mark.skipif(not WHERE.exists(), reason="the small real model is not here")
KINDS = {"induction": "induction", "previous": "previous", "code": "same"}
SCORES = {"induction": 0.544, "previous": 0.763, "code": 0.528}
CELLS = {
    "induction": ("a", "red", 0.775),
    "previous": ("river", "wide", 0.871),
    "noun": ("it", "book", 0.934),
    "quotation": ('"', '"', 0.875),
    "code": ("depth", "depth", 0.944),
}
PAIRS = {"noun": [0.660, 0.934], "quotation": [0.816, 0.875]}
CLOSE = 0.002


@pytest.fixture(scope="module")
def model() -> RealModel:
    return load_real(WHERE)


@pytest.fixture(scope="module")
def readings(model: RealModel) -> dict[str, Reading]:
    tokens = {name: model.config.tokens(one.text) for name, one in EXAMPLES.items()}
    return {name: read(model, torch.tensor([ids])) for name, ids in tokens.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_cell_of_a_sentence_has_the_share_that_was_measured(model, readings, name):
    shows, (query, target, expected) = EXAMPLES[name].shows, CELLS[name]
    reading = readings[name]
    row = reading.attention[shows["layer"], 0, shows["map_head"], shows["map_query"]]
    words = [model.config.text([one]).strip() for one in reading.tokens[0].tolist()]
    assert (words[shows["map_query"]], words[shows["map_key"]]) == (query, target)
    assert row[shows["map_key"]] == pytest.approx(expected, abs=CLOSE)
    assert row.argmax() == shows["map_key"]


@pytest.mark.parametrize("name", KINDS)
def test_of_all_heads_none_is_better_at_its_kind(readings, name):
    scores, shows = sentence_scores(readings[name]), EXAMPLES[name].shows
    table = scores.table[..., scores.kinds.index(KINDS[name])]
    own = table[shows["layer"], shows["map_head"]]
    assert own == pytest.approx(SCORES[name], abs=CLOSE)
    assert own == table.max()


@pytest.mark.parametrize("name", PAIRS)
def test_of_all_heads_none_gives_more_in_its_pairs(readings, name):
    shows, attention = EXAMPLES[name].shows, readings[name].attention[:, 0]
    given = torch.stack([attention[:, :, query, key] for query, key in EXAMPLES[name].pairs])
    own = given[:, shows["layer"], shows["map_head"]]
    assert own.tolist() == pytest.approx(PAIRS[name], abs=CLOSE)
    assert given.amin(0).max() == own.min()


def test_most_chinese_characters_are_cut_into_bytes(model):
    """So no sentence is Chinese: a reader could not tell the pieces apart."""
    pieces = [model.config.text([one]) for one in model.config.tokens("小猫坐在垫子上。")]
    assert pieces.count("\ufffd") > len(pieces) / 2
