"""All questions asked at once: the numbers are those that are found text by text."""

from functools import partial
from itertools import product
from statistics import fmean

import pytest
import torch

from mla_engine.language_model.accuracy import accuracies, exercises
from mla_engine.language_model.cuts import (
    Change,
    TopKeys,
    effect,
    strongest_directions,
    within,
    without_content,
    without_heads,
    without_minor_directions,
    without_rotary_key,
)
from mla_engine.language_model.heads import head_scores
from mla_engine.language_model.questions import Questions, right, uncut, verdict, without
from mla_engine.language_model.texts import TASKS, WORDS
from tests.language_model import samples
from tests.language_model.samples import MLA
from tests.sampling import some

COUNT, SEED = 3, 17
ATTENTIONS = {
    name: samples.ATTENTIONS[name] for name in ("mla", "mla without rotation", "gqa", "capped")
}
of_words = partial(samples.of_words, n_layers=3)


@pytest.fixture(scope="module")
def questions() -> Questions:
    return Questions.drawn(WORDS, COUNT, SEED)


def text_by_text(model) -> dict[str, float]:
    found = accuracies(model, COUNT, SEED)
    return {task: fmean(loads.values()) for task, loads in found.items()}


def test_the_questions_are_the_answers_of_the_texts(questions):
    row = 0
    found = list(zip(questions.row.tolist(), questions.place.tolist(), strict=True))
    wanted = []
    for (task, load), texts in questions.texts.items():
        assert texts == exercises(task, load, COUNT, SEED)
        for text in texts:
            words = [one.word for one in text]
            known = [WORDS[token] for token in questions.tokens[row, : len(text)].tolist()]
            assert known[: len(text) - 1] == words[:-1]
            wanted += [
                (row, i - 1) for i, one in enumerate(text) if one.determined and one.distance
            ]
            row += 1
    assert found == wanted
    assert [(task.name, load) for task in TASKS.values() for load in task.loads] == list(
        questions.texts
    )


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_one_run_has_the_scores_and_the_answers_of_many(questions, attention):
    model = of_words(attention)
    run, scores = uncut(model, questions), head_scores(model, COUNT, SEED)
    assert run.scores.kinds == scores.kinds
    torch.testing.assert_close(run.scores.table, scores.table, rtol=0, atol=1e-12)
    torch.testing.assert_close(run.scores.even, scores.even, rtol=0, atol=1e-12)
    assert run.right == right(model, questions) == pytest.approx(text_by_text(model), abs=1e-12)
    assert len(set(run.right.values())) > 1


@pytest.mark.parametrize(
    ("attention", "layer", "heads"), some(product(ATTENTIONS, (0, 1, 2), ([0], [2, 0])), 10)
)
def test_without_heads_from_the_uncut_run_on_is_the_cut_model(questions, attention, layer, heads):
    model = of_words(ATTENTIONS[attention])
    found = without(model, questions, uncut(model, questions), layer, heads)
    cut = without_heads(model, layer, heads)
    assert found == pytest.approx(text_by_text(cut), abs=1e-12)
    assert found == {task: one.after for task, one in effect(model, cut, COUNT, SEED).items()}
    assert found != text_by_text(model)


@pytest.mark.parametrize(
    "cut",
    [
        without_content,
        without_rotary_key,
        lambda model: without_minor_directions(model, 3),
        lambda model: TopKeys(model, 2),
    ],
)
def test_other_cuts_answer_as_they_do_text_by_text(questions, cut):
    model = cut(of_words(MLA))
    assert right(model, questions) == pytest.approx(text_by_text(model), abs=1e-12)
    assert right(model, questions) != text_by_text(of_words(MLA))


def test_directions_that_are_kept_give_the_same_cut():
    model = of_words(MLA)
    directions = strongest_directions(model)
    for rank in (1, 5):
        cut, wanted = within(model, directions, rank), without_minor_directions(model, rank)
        assert all(torch.equal(cut.state_dict()[n], w) for n, w in wanted.state_dict().items())


@pytest.mark.parametrize(
    ("recall", "copy", "said"),
    [
        ((0.9, 0.5), (0.8, 0.8), "own"),
        ((0.9, 0.5), (0.8, 0.7), "everything"),
        ((0.9, 0.65), (0.8, 0.3), "shared"),
        ((0.2, 0.0), (0.8, 0.8), "unlearned"),
    ],
)
def test_what_a_cut_tells_about_a_task(recall, copy, said):
    assert verdict({"recall": Change(*recall), "copy": Change(*copy)}, "recall") == said


def test_no_text_at_all_is_refused():
    with pytest.raises(ValueError, match=r"count \(0\)"):
        Questions.drawn(WORDS, 0, SEED)
