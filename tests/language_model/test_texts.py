"""The language: exercises at their loads, frequencies, seeds; test_answers.py reads the words."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from mla_engine.language_model.texts import LENGTH, TASKS, WORDS, exercise, mixed, practice


def is_name(word: str) -> bool:
    return WORDS.index(word) < WORDS.index("lamp")


@pytest.mark.parametrize("task", TASKS)
def test_an_exercise_asks_for_one_task_at_its_load(task):
    for load in TASKS[task].loads:
        texts = [exercise(Random(seed), task, load) for seed in range(50)]
        assert all(0 < len(text) <= LENGTH for text in texts)
        for text in texts:
            assert any(one.determined and one.distance for one in text)
        first = [one.word for one in texts[0]]
        held = {
            "recall": sum(map(is_name, first[: 2 * load])),
            "copy": first.index(":") - 1 if ":" in first else None,
            "agreement": first[: first.index("now")].count("near") if "now" in first else None,
            "brackets": first.index("close") if "close" in first else None,
        }
        assert held.get(task, load) == load


def test_every_answer_is_as_frequent_as_the_others_of_its_kind():
    for task, kinds in {
        "recall": 24,
        "copy": 16,
        "back": 16,
        "agreement": 2,
        "brackets": 3,
    }.items():
        load = TASKS[task].loads[-1]
        counted = Counter(
            one.word
            for seed in range(400)
            for one in exercise(Random(seed), task, load)
            if one.determined and one.distance
        )
        mean = counted.total() / kinds
        assert len(counted) == kinds
        assert all(abs(count - mean) < 6 * mean**0.5 for count in counted.values()), counted


def test_a_name_is_paired_once_in_a_text():
    for seed in range(200):
        bound = {}
        words = [one.word for one in practice(Random(seed))]
        for name, thing in pairwise(words):
            if is_name(name):
                assert bound.setdefault(name, thing) == thing


def test_texts_are_those_of_their_seed():
    assert mixed(Random("7/3")) == mixed(Random("7/3")) != mixed(Random("7/4"))


@pytest.mark.parametrize(("task", "load"), [("riddle", 4), ("recall", 5)])
def test_a_task_or_a_load_that_there_is_not_is_refused(task, load):
    with pytest.raises(ValueError, match=r"riddle|load \(5\) must be one of 4, 8, 16, 24"):
        exercise(Random(0), task, load)
