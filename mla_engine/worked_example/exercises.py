"""The example's questions to its reader: numbers of its last steps, and rules behind steps.

A number is right to the digits that are printed of it.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import MappingProxyType

from mla_engine.worked_example.numbers import parse_number, show
from mla_engine.worked_example.step import Step

STAGES = {"given": 0, "last": 1, "more": 4}  # and how many of the last steps are asked
# The key of a step -> the rule of algebra that acts there, and two that do not.
RULES = MappingProxyType(
    {
        "k_R": ("own_position", "commutativity", "row_sum"),
        "q_R": ("same_length", "linearity", "row_sum"),
        "scores_C": ("associativity", "commutativity", "relative"),
        "scores_R": ("relative", "associativity", "row_sum"),
        "scores": ("blocks", "commutativity", "relative"),
        "attention": ("row_sum", "associativity", "linearity"),
        "o": ("linearity", "commutativity", "same_length"),
        "u": ("blocks", "relative", "same_length"),
    }
)


def asked(steps: Sequence[Step], stage: str) -> tuple[str, ...]:
    """Return the keys of the steps that a stage asks: the last before the caches are counted."""
    found = [step.key for step in steps if step.axes != ("", "") and _numbers(step)]
    return tuple(found[len(found) - STAGES[stage] :])


def last_number(step: Step) -> tuple[int, int]:
    """Return row and column of the last cell with a number, which reads most of the others."""
    return _numbers(step)[-1]


def _numbers(step: Step) -> list[tuple[int, int]]:
    rows, columns = step.result.shape
    places = product(range(rows), range(columns))
    return [place for place in places if step.is_number(*place)]


def is_right(typed: str, value: Fraction) -> bool:
    """Return whether a text says this number: exactly, or to the digits that `show` prints.

    Raises:
        NumberError: as `parse_number`.
    """
    return abs(parse_number(typed) - value) <= _half_a_digit(value)


def _half_a_digit(value: Fraction) -> Fraction:
    """Return half a unit of the last digit printed of a rounded number, 0 of an exact one."""
    text = show(value)
    if not text.startswith("≈"):
        return Fraction(0)
    plain = text.removeprefix("≈").replace("\N{MINUS SIGN}", "-")
    return Fraction(10) ** Decimal(plain).as_tuple().exponent / 2


def offered_rules(key: str) -> tuple[str, ...]:
    """Return the rules to choose among at a step, in alphabetical order; none where none acts."""
    return tuple(sorted(RULES.get(key, ())))


def acting_rule(key: str) -> str:
    """Return the rule that acts at a step."""
    return RULES[key][0]
