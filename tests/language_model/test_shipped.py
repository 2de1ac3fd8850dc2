"""The models that come with the app: their cards hold on texts that no training and no card saw."""

from random import Random

import pytest
import torch

from mla_engine import costs
from mla_engine.language_model.accuracy import answers, batch, exercises
from mla_engine.language_model.heads import head_scores
from mla_engine.language_model.questions import Questions
from mla_engine.language_model.sparse import ALL, ASKED, KEYS, RULES, SEED, Sparse, answered
from mla_engine.language_model.texts import LENGTH, TASKS, mixed
from tests.language_model.samples import FOLDER, shipped

SHIPPED = sorted(path.stem for path in FOLDER.glob("*.safetensors"))
INDEXED = "dsa"  # no model of the study: one of its own that got indexers
ROTATED = [code for code in SHIPPED if "nope" not in code and code != INDEXED]
FRESH, TEXTS = 31, 60
MOST_BYTES, MOST_BYTES_OF_STUDY, MOST_BYTES_OF_ALL = 1_000_000, 8_000_000, 8_200_000


@pytest.mark.parametrize("code", SHIPPED)
def test_a_card_is_true_on_fresh_texts(code):
    model, card = shipped(code)
    assert (card["variant"], card["seed"]) == (code, 0)
    assert card["cached"] == costs.cache_elements(model.config.attention)
    assert card["parameters"] == sum(weight.numel() for weight in model.parameters())
    for task in TASKS.values():
        for load in task.loads:
            found = answers(model, exercises(task.name, load, TEXTS, FRESH))
            told, count = card["accuracy"][task.name][str(load)], len(found.given)
            deviation = (max(told * (1 - told), 1 / count) / count) ** 0.5
            assert abs(found.share - told) < 5 * deviation, (task.name, load, found.share, told)


@pytest.mark.parametrize(
    ("rule", "keys"),
    [("indexer", 8), ("indexer", ALL), ("heads", 1), ("latest", 32), ("chance", 4)],
)
def test_the_answers_of_the_card_are_those_that_it_gives(rule, keys):
    model, card = shipped(INDEXED)
    assert set(card["answers"]) == set(RULES)
    assert list(card["answers"][rule]) == [str(number) for number in (*KEYS, ALL)]
    asked = Questions.drawn(model.config.words, ASKED, SEED)
    right, by_task, left_out = answered(Sparse(model, keys, rule), asked)
    told = card["answers"][rule][str(keys)]
    assert told[0] == pytest.approx(right, abs=2 / len(asked.answer))  # of nearly equal words
    assert told[1] == pytest.approx(by_task, abs=0.02)
    assert told[2] == pytest.approx(left_out, rel=1e-4)


@pytest.mark.parametrize("code", ROTATED)
@pytest.mark.parametrize("task", ["recall", "copy", "back"])
def test_a_model_with_rotation_answers_what_is_light(code, task):
    _, card = shipped(code)
    assert card["accuracy"][task][str(TASKS[task].loads[0])] >= 0.95


@pytest.mark.parametrize("code", [*ROTATED, INDEXED])
def test_a_model_with_rotation_has_heads_of_previous_words_and_of_induction(code):
    model, _ = shipped(code)
    found = head_scores(model, FRESH, FRESH, ("previous", "induction"))
    first, second = found.table
    assert first[:, 0].max() > 0.8
    assert second[:, 1].max() > 0.8
    assert ("previous" in found.names()[0], "induction" in found.names()[1]) == (True, True)


@torch.no_grad()
@pytest.mark.parametrize("code", ROTATED)
def test_over_all_words_of_mixed_texts_the_heads_of_previous_words_have_little(code):
    model, _ = shipped(code)
    best = head_scores(model, 8, FRESH, ("previous",)).table[0, :, 0].argmax()
    texts = [mixed(Random(f"{FRESH}/{i}")) for i in range(TEXTS)]
    attention = model(batch(texts, model.config.words).tokens).blocks[0].attention.attention
    assert 0.2 <= attention[:, best].diagonal(-1, -2, -1).mean() <= 0.35


def test_they_are_small():
    assert {"mha", "gqa", "mqa", "mla"} <= set(SHIPPED)
    sizes = {path: path.stat().st_size for path in FOLDER.rglob("*.safetensors")}
    assert max(sizes.values()) <= MOST_BYTES
    assert sum(sizes.values()) - sizes[FOLDER / f"{INDEXED}.safetensors"] <= MOST_BYTES_OF_STUDY
    assert sum(sizes.values()) <= MOST_BYTES_OF_ALL


def test_the_model_with_indexers_is_mla_and_no_other_weight_has_changed():
    (dense, _), (indexed, card) = shipped("mla"), shipped(INDEXED)
    before, after = dense.state_dict(), indexed.state_dict()
    assert set(before) < set(after)
    for name, weight in before.items():
        assert torch.equal(after[name], weight), name
    learned = sum(after[name].numel() for name in set(after) - set(before))
    assert learned == card["learned"] == card["parameters"] - sum(map(torch.numel, before.values()))
    assert learned < 0.08 * card["parameters"]


@pytest.mark.parametrize(("keys", "least"), [(4, 0.75), (8, 0.93), (16, 0.99)])
def test_the_indexer_finds_nearly_what_the_heads_would_choose_and_others_do_not(keys, least):
    model, _ = shipped(INDEXED)
    asked = Questions.drawn(model.config.words, 3, FRESH)
    right = {rule: answered(Sparse(model, keys, rule), asked).right for rule in RULES}
    whole = answered(Sparse(model, LENGTH), asked).right
    assert whole > 0.99
    assert least < right["indexer"] <= whole
    assert right["heads"] - 0.06 < right["indexer"]
    assert max(right["latest"], right["chance"]) < right["indexer"] - 0.1
