"""Every number as it is written on the screen."""

from collections.abc import Callable

import pytest

from ui.words import numbers

ROWS = [
    (numbers.count, 1234567, "1,234,567"),
    (numbers.digits, 7.1111, "7.11"),
    (numbers.digits, 4, "4.00"),
    (numbers.digits, 1234.5, "1,234"),
    (numbers.digits, 2.4e-16, "2.40e-16"),
    (numbers.amount, 32768, "32,768"),
    (numbers.amount, 7.1111, "7.11"),
    (numbers.amount, 5.0, "5"),
    (numbers.amount, 10**10, "1.00e+10"),
    (numbers.times, 56.888, "56.9×"),
    (numbers.size, 1152, "1.12 KiB"),
    (numbers.printed, "-0.012", "−0.012"),
]


@pytest.mark.parametrize(("function", "argument", "text"), ROWS)
def test_numbers_read_as_people_write_them(
    function: Callable[[object], str], argument: object, text: str
) -> None:
    assert function(argument) == text
