"""The language: what is marked as determined is right by a checker that reads words alone."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from mla_engine.language_model.texts import LENGTH, TASKS, WORDS, exercise, mixed, practice

OPEN, NUMBERS = "([{", ("one", "two", "three", "four")
CLOSES = {")": "(", "]": "[", "}": "{"}
SINGULAR = ("dog", "cat", "owl", "fox", "goat", "hen", "cow", "bird")


def expected(words: list[str]) -> dict[int, tuple[str, int]]:
    """Place -> the word that must stand there, and the place that says so, read from the words."""
    found, bound, start = {}, {}, 0
    for here, word in enumerate(words):
        segment = words[start:here]
        if word == "." or here == len(words) - 1 or word in bound:
            pass
        if here and words[here - 1] in bound:
            found[here] = words[bound[words[here - 1]]], bound[words[here - 1]]
            bound[words[here - 1]] = here
        if ":" in segment:
            listed = segment.index(":")
            place = start + 1 + len(segment) - listed - 1
            if place < start + listed:
                found[here] = words[place], place
        if segment and segment[-1] in NUMBERS:
            place = here - 2 - NUMBERS.index(segment[-1])
            found[here] = words[place], place
        if segment and segment[-1] == "now":
            found[here] = ("is" if words[start + 1] in SINGULAR else "are"), start + 1
        if "close" in segment:
            middle = segment.index("close")
            place = start + middle - (len(segment) - middle)
            if place >= start:
                closer = {value: key for key, value in CLOSES.items()}[words[place]]
                found[here] = closer, place
        if here and is_name(words[here - 1]) and words[here - 1] not in bound:
            bound[words[here - 1]] = here
            start = here + 1
        elif word == "." or (here and words[here - 1] in bound):
            start = here + 1
    return found


def is_name(word: str) -> bool:
    return WORDS.index(word) < WORDS.index("lamp")


@pytest.mark.parametrize("make", [mixed, practice], ids=["mixed", "practice"])
def test_every_answer_is_the_one_that_the_words_ask_for(make):
    asked = 0
    for seed in range(300):
        text = make(Random(seed))
        words = [one.word for one in text]
        assert len(words) == LENGTH
        marked = {
            place: (one.word, place - one.distance)
            for place, one in enumerate(text)
            if one.determined and one.distance
        }
        assert marked == expected(words), " ".join(words)
        asked += len(marked)
    assert asked > 300 * 8


@pytest.mark.parametrize("task", TASKS)
def test_an_exercise_asks_for_one_task_at_its_load(task):
    for load in TASKS[task].loads:
        texts = [exercise(Random(seed), task, load) for seed in range(50)]
        assert all(0 < len(text) <= LENGTH for text in texts)
        for text in texts:
            words = [one.word for one in text]
            answers = [one for one in text if one.determined and one.distance]
            assert answers
            assert {place for place, one in enumerate(text) if one in answers} >= set(
                expected(words)
            )
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
