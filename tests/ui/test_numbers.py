"""Every way of writing a number, one row each."""

from collections.abc import Callable
from functools import partial

import pytest

from ui.words import numbers
from ui.words.numbers import clock, count, digits, flop, number, share, size, times

ROWS = [
    (count, 32768, "32,768"),
    (count, 1234567, "1,234,567"),
    (digits, 7.1111, "7.11"),
    (digits, 1234.5, "1,234"),
    (times, 56.94, "56.9×"),
    (size, 1152, "1.12 KiB"),
    (partial(size, binary=False), 1152, "1.15 kB"),
    (partial(numbers.tied_size, unit="GiB"), 1536, "1.50\xa0KiB"),
    (partial(numbers.tied_size, unit="GB"), 1536, "1.54\xa0kB"),
    (numbers.times_in_percent, 0.889, "0.889× (−11%)"),
    (numbers.times_in_percent, 15.111, "15.1× (+1,411%)"),
    (numbers.in_millions, 13_762_560, "13.8 M"),
    (flop, 1.234e12, "1.23\xa0TFLOP"),
    (clock, 1.23e-5, "12.3\xa0µs"),
    (number, -2.5, "−2.500"),
    (number, 0.0, "0.000"),
    (number, 1234.4, "1234"),
    (number, 1.88e-17, "1.880×10⁻¹⁷"),
    (share, 0.0, "0 %"),
    (share, 2.29e-7, "less than 0.001 %"),
    (share, 1e-5, "0.00100 %"),
    (share, 0.1234, "12.3 %"),
    (share, 1.0, "100 %"),
]


@pytest.mark.parametrize(("function", "argument", "text"), ROWS)
def test_a_number_is_written(
    function: Callable, argument: float, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "en"})
    assert function(argument) == text


def test_a_share_is_written_in_the_readers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "zh"})
    assert [share(part) for part in (0.1234, 2.29e-7)] == ["12.3%", "不到 0.001%"]
