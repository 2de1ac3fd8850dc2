"""Every number as it is written on the screen."""

from collections.abc import Callable
from functools import partial

import pytest

from ui.words import numbers

ROWS = [
    (numbers.count, 1234567, "1,234,567"),
    (partial(numbers.tied_size, unit="GiB"), 1536, "1.50\xa0KiB"),
    (partial(numbers.tied_size, unit="GB"), 1536, "1.54\xa0kB"),
    (numbers.times_in_percent, 0.889, "0.889× (−11%)"),
    (numbers.times_in_percent, 15.111, "15.1× (+1,411%)"),
    (numbers.in_millions, 13_762_560, "13.8 M"),
]


@pytest.mark.parametrize(("function", "number", "text"), ROWS)
def test_a_number_as_it_is_written(
    function: Callable[[float], str], number: float, text: str
) -> None:
    assert function(number) == text
