"""Questions: the same for the same seed, their answers against arithmetic of their own."""

import random
from itertools import pairwise

import numpy as np
import pytest
import torch

from mla_engine import quiz
from mla_engine.quiz.question import amounts, words
from tests.refusals import refusing

SEEDS = range(8)


def right(question):
    return question.choices[question.answer].value


@pytest.mark.parametrize("kind", quiz.KINDS)
def test_choices_are_few_and_no_two_read_alike(kind):
    for seed in SEEDS:
        values = [choice.value for choice in quiz.question(seed, kind).choices]
        assert 2 <= len(set(values)) == len(values) <= 5
        if not isinstance(values[0], str):
            assert all(b > 1.03 * a for a, b in pairwise(values))


def test_a_statement_has_the_verdict_of_its_check():
    from tests.engine.test_claims import EXPECTED

    for seed in range(20):
        question = quiz.question(seed, "statement")
        assert right(question) == EXPECTED[question.fact("claim")].replace(" ", "_")


@pytest.mark.parametrize("seed", SEEDS)
def test_maps_are_of_causal_layers_but_one_that_is_exchanged(seed):
    rows, columns = np.indices((8, 8))
    for kind in ("unrotated", "window", "wrong_scale", "not_causal"):
        question = quiz.question(seed, kind)
        width = question.fact("width") if kind == "window" else 8
        for place, shares in enumerate(question.maps):
            right = place == question.answer
            shares = shares.T if right and kind == "not_causal" else shares
            assert np.allclose(shares.sum(1), 1, atol=1e-5)
            seen = (columns <= rows) & (columns > rows - width)
            assert (np.array_equal(shares > 0, seen)) == (right or kind != "window")


def test_a_class_gets_the_same_set_from_a_seed_and_nobody_elses_dice_move():
    random.seed(5)
    torch.manual_seed(5)
    first = [quiz.question(3, kind) for kind in quiz.order(3)]
    assert random.random() == random.Random(5).random()
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(5))
    again = [quiz.question(3, kind) for kind in reversed(quiz.order(3))][::-1]
    for one, two in zip(first, again, strict=True):
        assert (one.kind, one.choices, one.answer, one.facts) == (
            two.kind, two.choices, two.answer, two.facts,
        )  # fmt: skip
        assert all(np.array_equal(a, b) for a, b in zip(one.maps, two.maps, strict=True))
    assert sorted(quiz.order(3)) == sorted(quiz.KINDS)
    assert quiz.order(3) != quiz.order(4)


def test_seeds_vary_models_answers_and_places():
    asked = [quiz.question(seed, "elements") for seed in range(40)]
    assert len({question.preset for question in asked}) > 4
    assert len({question.answer for question in asked}) > 1
    assert len({right(question) for question in asked}) > 1


def test_wrong_amounts_that_look_right_are_left_out():
    mixed = amounts(random.Random(0), 100.0, "yes", {"near": 101.0, "far": 50.0, "same": 100.0})
    assert [choice.value for choice in mixed["choices"]] == [50.0, 100.0]
    assert mixed["answer"] == 1
    with refusing("all_right"):
        amounts(random.Random(0), 100.0, "yes", {"near": 101.0})


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="seed"):
        quiz.question(-1, "elements")
    with pytest.raises(ValueError, match="kind"):
        quiz.question(1, "capital_cities")
    with pytest.raises(ValueError, match="seed"):
        quiz.order(1.5)
    with pytest.raises(ValueError, match="not in tuple"):
        words(("a", "b"), "c")
