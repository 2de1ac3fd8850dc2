"""Every way of writing a number, one row each."""

from functools import partial

import pytest

from ui.words import numbers
from ui.words.numbers import clock, count, digits, flop, number, share, size, times
from ui.words.text import t

ROWS = [
    (count, 32768, "32,768"),
    (digits, 7.1111, "7.11"),
    (digits, 1234.5, "1,234"),
    (times, 56.94, "56.9×"),
    (size, 1152, "1.12 KiB"),
    (numbers.tied_size, 1536, "1.50\xa0KiB"),
    (numbers.times_in_percent, 15.111, "15.1× (+1,411%)"),
    (numbers.in_millions, 13_762_560, "13.8 M"),
    (flop, 1.234e12, "1.23\xa0TFLOP"),
    (number, -2.5, "−2.500"),
    (number, 0.0, "0.000"),
    (number, 1234.4, "1234"),
    (number, 1.88e-17, "1.880×10⁻¹⁷"),
    (share, 0.0, "0 %"),
    (share, 2.29e-7, "less than 0.001 %"),
    (share, 1e-5, "0.00100 %"),
    (share, 0.1234, "12.3 %"),
    (share, 1.0, "100 %"),
    (digits, 0.00012345, "0.000123"),
    (digits, 0.000012345, "1.23e-05"),
    (digits, 0, "0.00"),
    (partial(digits, significant=1), 4.1e-7, "4e-07"),
    (size, 1023, "1,023 B"),
    (partial(size, binary=False), 1_500_000, "1.50 MB"),
    (numbers.tied_size, 3 * 2**30, "3.00\xa0GiB"),
    (partial(numbers.tied_size, binary=False), 4.8e12, "4.80\xa0TB"),
    (numbers.prefixed, 999, "999"),
    (numbers.prefixed, 1234, "1.23\xa0k"),
    (partial(numbers.giga, unit="B/s"), 2.04e10, "20.4\xa0GB/s"),
    (numbers.shortest, 4.0, "4"),
    (numbers.shortest, 0.5, "0.5"),
    (numbers.signed, -7.1111, "−7.11"),
    (numbers.signed, 1234.5, "1,234"),
    (numbers.signed, -2.5e-5, "−2.50e−05"),
    (partial(numbers.shortest, significant=4), 19.5712, "19.57"),
    (partial(numbers.fixed, decimals=8), 0.114721386, "0.11472139"),
    (partial(numbers.fixed, decimals=6), 0.25, "0.250000"),
    (numbers.intensity, 56.94, "56.9 FLOP/B"),
    (clock, 2, "2.00\xa0s"),
    (clock, 0.0485, "48.5\xa0ms"),
    (clock, 3.2e-6, "3.20\xa0µs"),
    (clock, 4.5e-10, "0.450\xa0ns"),
    (numbers.prefixed_count, 999, "999"),
    (numbers.prefixed_count, 4_194_304, "4.19\xa0M"),
    (numbers.tenths, 1234.46, "1,234.5"),
    (numbers.points, 0.0714, "+7.1"),
    (numbers.points, -0.77, "−77.0"),
    (numbers.points, -0.0004, "0.0"),
    (numbers.entries, 99_999, "99,999"),
    (numbers.entries, 100_663_296, "100.7 M"),
    (numbers.millions, 999_999, "999,999"),
    (numbers.millions, 37_748_736, "37.7 M"),
    (numbers.error_percent, 0.12345, "12.3\xa0%"),
    (numbers.error_percent, 0.0, "0.0\xa0%"),
    (numbers.off_by, 0.73214, "73.2 %"),
    (numbers.off_by, 0.0009, "9e-04"),
    (numbers.off_by, 2.4e-16, "2e-16"),
    (numbers.scientific, 0.0033219, "3.3e-03"),
    (numbers.mixed, 2.25, "2¼"),
    (numbers.mixed, 8, "8"),
    (numbers.mixed, 0.5, "½"),
    (numbers.mixed, 0.74, "0.740"),
    (numbers.mixed, 0, "0"),
    (numbers.amount, 32768, "32,768"),
    (numbers.amount, 7.1111, "7.11"),
    (numbers.amount, 5.0, "5"),
    (numbers.amount, 10**10, "1.00e+10"),
    (numbers.printed, "-0.012", "−0.012"),
]


@pytest.mark.parametrize(("function", "argument", "text"), ROWS)
def test_a_number_is_written(function, argument, text, monkeypatch):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "en"})
    assert function(argument) == text


def test_a_share_is_written_in_the_readers_language(monkeypatch):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "zh"})
    assert [share(part) for part in (0.1234, 2.29e-7)] == ["12.3%", "不到 0.001%"]
    assert [numbers.error_percent(0.1234), numbers.off_by(0.73214)] == ["12.3%", "73.2%"]


CHINESE = [
    (numbers.prefixed, 999, "999"),
    (numbers.prefixed, 395_264, "39.5\xa0万"),
    (numbers.prefixed_count, 1_536, "1,536"),
    (numbers.prefixed_count, 9_999, "9,999"),
    (numbers.prefixed_count, 6_560_000, "656\xa0万"),
    (numbers.prefixed_count, 34_400_000_000, "344\xa0亿"),
    (numbers.prefixed_count, 1.234e12, "1.23\xa0万亿"),
    (numbers.in_millions, 13_762_560, "1,376\xa0万"),
    (numbers.millions, 999_999, "999,999"),
    (numbers.millions, 37_748_736, "3,775\xa0万"),
    (numbers.entries, 99_999, "99,999"),
    (numbers.entries, 100_663_296, "1.007\xa0亿"),
    (flop, 1.234e12, "1.23\xa0TFLOP"),
    (size, 1152, "1.12 KiB"),
]


@pytest.mark.parametrize(("function", "argument", "text"), CHINESE)
def test_a_large_count_is_written_by_ten_thousands_in_chinese(
    function, argument, text, monkeypatch
):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "zh"})
    assert function(argument) == text


def test_a_chinese_counter_follows_its_number_without_a_space(monkeypatch):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "zh"})
    said = t("absorption.step", adds=numbers.prefixed(395_264), heads="16")
    assert said.startswith("39.5\xa0万次")
    assert t("absorption.step", adds="512", heads="16").startswith("512 次")
