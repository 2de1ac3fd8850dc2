"""The example fades: its last steps are asked of the reader, first one of them, then more.

What is asked is a number; it is right to the digits that are printed of it.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

from mla_engine.worked_example.numbers import parse_number, show
from mla_engine.worked_example.step import Step

STAGES = {"given": 0, "last": 1, "more": 4}  # and how many of the last steps are asked


def asked(steps: Sequence[Step], stage: str) -> tuple[str, ...]:
    """The keys of the steps that a stage asks: the last ones before the caches are counted."""
    found = [step.key for step in steps if step.axes != ("", "") and _numbers(step)]
    return tuple(found[len(found) - STAGES[stage] :])


def last_number(step: Step) -> tuple[int, int]:
    """Row and column of the last cell that holds a number: it reads most of what came before."""
    return _numbers(step)[-1]


def _numbers(step: Step) -> list[tuple[int, int]]:
    rows, columns = step.result.shape
    places = product(range(rows), range(columns))
    return [place for place in places if step.is_number(*place)]


def is_right(typed: str, value: Fraction) -> bool:
    """Whether a text says this number: exactly, or to the digits that `show` prints of it.

    Raises:
        NumberError: as `parse_number`.
    """
    return abs(parse_number(typed) - value) <= _half_a_digit(value)


def _half_a_digit(value: Fraction) -> Fraction:
    """Half a unit of the last digit that is printed of a rounded number, 0 of an exact one."""
    text = show(value)
    if not text.startswith("≈"):
        return Fraction(0)
    plain = text.removeprefix("≈").replace("\N{MINUS SIGN}", "-")
    return Fraction(10) ** Decimal(plain).as_tuple().exponent / 2
