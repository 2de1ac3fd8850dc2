"""Every number as it is written on the screen."""

from collections.abc import Callable
from functools import partial

import pytest

from ui.words import numbers

ROWS = [
    (numbers.count, 1234567, "1,234,567"),
    (numbers.digits, 7.1111, "7.11"),
    (numbers.digits, 4, "4.00"),
    (numbers.digits, 989.5, "990"),
    (numbers.digits, 1307.4, "1,307"),
    (numbers.digits, 0.00012345, "0.000123"),
    (numbers.digits, 0.000012345, "1.23e-05"),
    (numbers.digits, 0, "0.00"),
    (partial(numbers.digits, significant=1), 4.1e-7, "4e-07"),
    (numbers.times, 56.888, "56.9×"),
    (numbers.size, 1023, "1,023 B"),
    (numbers.size, 1536, "1.50 KiB"),
    (partial(numbers.size, binary=False), 1_500_000, "1.50 MB"),
    (numbers.tied_size, 3 * 2**30, "3.00\xa0GiB"),
    (partial(numbers.tied_size, binary=False), 4.8e12, "4.80\xa0TB"),
    (numbers.prefixed, 999, "999\xa0"),
    (numbers.prefixed, 1234, "1.23\xa0k"),
    (numbers.flop, 2.36e12, "2.36\xa0TFLOP"),
    (partial(numbers.giga, unit="B/s"), 2.04e10, "20.4\xa0GB/s"),
    (numbers.shortest, 4.0, "4"),
    (numbers.shortest, 0.5, "0.5"),
    (numbers.clock, 2, "2.00\xa0s"),
    (numbers.clock, 0.0485, "48.5\xa0ms"),
    (numbers.clock, 3.2e-6, "3.20\xa0µs"),
    (numbers.clock, 4.5e-10, "0.450\xa0ns"),
]


@pytest.mark.parametrize(("function", "number", "text"), ROWS)
def test_a_number_as_it_is_written(
    function: Callable[[float], str], number: float, text: str
) -> None:
    assert function(number) == text
