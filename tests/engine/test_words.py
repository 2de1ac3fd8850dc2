"""Words become tokens, tokens become vectors: equal ones equal, within the stated limits."""

import numpy as np
import pytest

from mla_engine.studies import words
from tests.refusals import refusing


def test_words_are_split_and_chinese_characters_stand_alone():
    assert words.words_of("the cat\n\tthe  <b>") == ("the", "cat", "the", "<b>")
    assert words.words_of("小猫 cat了") == ("小", "猫", "cat", "了")
    assert words.words_of("$x_1$ 😀 مرحبا 2024") == ("$x_1$", "😀", "مرحبا", "2024")


@pytest.mark.parametrize(
    ("text", "key"),
    [(" \n", "no_words"), ("x" * 2001, "too_long"), ("w " * 257, "too_many")],
)
def test_text_beyond_the_limits_is_refused(text, key):
    with pytest.raises(words.TextError) as refused:
        words.words_of(text)
    assert refused.value.key == key
    assert len(words.words_of("w " * 256)) == 256
    assert len(words.words_of("x" * 2000)) == 1


def test_equal_words_get_equal_vectors_wherever_they_stand():
    h = words.hidden_states(("the", "cat", "the"), 0, 64)
    assert h.dtype == np.float32
    assert np.array_equal(h[0], h[2])
    assert not np.array_equal(h[0], h[1])
    assert np.array_equal(words.hidden_states(("cat",), 0, 64)[0], h[1])
    assert not np.array_equal(words.hidden_states(("cat",), 1, 64)[0], h[1])
    assert abs(words.hidden_states(("cat",), 0, 10_000).std() - 1) < 0.05


def test_made_up_words_repeat_and_a_longer_list_continues_a_shorter():
    made_up = words.generated_words(256)
    assert len(made_up) == 256
    assert len(set(made_up)) < 256
    assert made_up[:16] == words.generated_words(16)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a \u200b b", ("a", "b")),
        ("\u202e a\u200db \ufeffc\u00adc \u3164", ("ab", "cc")),
        (
            "👩\u200d👩\u200d👧 😀\u200d 🏳\ufe0f\u200d🌈",
            ("👩\u200d👩\u200d👧", "😀", "🏳\ufe0f\u200d🌈"),
        ),
        ("می\u200cخواهم क\u094d\u200dष", ("می\u200cخواهم", "क\u094d\u200dष")),
        ("\ufe0f ❤\ufe0f \u200d", ("❤\ufe0f",)),
        ("小\u200b猫\x00 a\x1fb", ("小", "猫", "a", "b")),
        ("葛\U000e0100城", ("葛\U000e0100", "城")),
    ],
)
def test_invisible_characters_make_no_words_and_joiners_stay_where_they_shape(text, expected):
    assert words.words_of(text) == expected


def test_a_text_of_nothing_visible_has_no_words():
    with refusing("no_words"):
        words.words_of("\u200b\u202e \u200d\ufe0f")
