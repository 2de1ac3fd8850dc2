"""The next word, read from only the words, is what the language marks as determined."""

from random import Random

import pytest

from mla_engine.language_model.answers import answer
from mla_engine.language_model.texts import TASKS, exercise, mixed


@pytest.mark.parametrize("task", TASKS)
def test_every_answer_of_an_exercise_is_read_and_nothing_else(task):
    for load in TASKS[task].loads:
        for seed in range(40):
            check(exercise(Random(seed), task, load), task)


def test_every_answer_of_a_mixed_text_is_read_and_nothing_else():
    for seed in range(300):
        check(mixed(Random(seed)))


def check(text, task: str = "") -> None:
    """Before every word the answer is the one that the text has marked, or none."""
    words = [one.word for one in text]
    for place, one in enumerate(text):
        found = answer(words[:place])
        if one.determined and one.distance:
            assert found is not None, words[:place]
            assert (found.word, found.place) == (one.word, place - one.distance), words[:place]
            assert not task or found.task == task
        else:
            assert found is None, words[:place]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "anna",
        "anna anna",
        "anna ben anna",
        "one",
        "fig four",
        "now",
        "near the dog now",
        "close",
        "( close ]",
        "( close )",
        ":",
        "fig :",
        "copy :",
        "copy fig plum : plum",
        "copy fig plum : fig plum",
    ],
)
def test_what_the_words_leave_open_has_no_answer(text):
    assert answer(text.split()) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("anna lamp anna", ("recall", "lamp", 1)),
        ("anna lamp ben cup anna bell anna", ("recall", "bell", 5)),
        ("copy fig plum : fig", ("copy", "plum", 2)),
        ("fig plum pear two", ("back", "plum", 1)),
        ("the dog near the cats now", ("agreement", "is", 1)),
        ("the dogs now", ("agreement", "are", 1)),
        ("( [ close ]", ("brackets", ")", 0)),
    ],
)
def test_an_answer_has_its_task_and_the_place_that_decides_it(text, expected):
    assert answer(text.split()) == answer(tuple(text.split())) == expected
