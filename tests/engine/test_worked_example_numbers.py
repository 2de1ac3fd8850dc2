"""The text of a matrix: read exactly, refused by place and reason, written back, shown."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcount.drawn import isolated
from mla_engine import worked_example
from mla_engine.worked_example import Gap
from tests.refusals import refusing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1 -0.2; 0.2 .5", "0.1 -0.2 0.2 0.5"),
        ("1/3 -2/4;+3 4.", "1/3 -1/2 3 4"),
        ("\N{MINUS SIGN}0.5 0.5/2;1 2 ;", "-0.5 0.25 1 2"),
    ],
)
def test_parse_reads_exactly(text: str, expected: str) -> None:
    rows = worked_example.parse_matrix(text, (2, 2))
    assert [value for row in rows for value in row] == [Fraction(x) for x in expected.split()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 x;3 4", r"row 1, column 2: 'x' is not a number: write a decimal"),
        ("1 2;3 1e5", r"row 2, column 2: '1e5' has an exponent: write it out"),
        ("1 2;3/0 4", r"row 2, column 1: '3/0' divides by zero"),
        ("1 2;3/0.0 4", r"row 2, column 1: '3/0.0' divides by zero"),
        ("1 0.1234567890123;3 4", r"row 1, column 2: '0.1234567890123' has 15 .* at most 12"),
        ("1 2 3;4 5 6", r"2 rows, row 1 with 3 numbers, instead of 2 x 2"),
        ("1 2", r"^1 row, row 1 with 2 numbers, instead of 2 x 2"),
        ("1;2", r"^2 rows, row 1 with 1 number, instead of 2 x 2"),
        ("", r"instead of 2 x 2: write 2 rows of 2 numbers"),
        ("1 2;3 ٤", rf"row 2, column 2: '{isolated('٤')}' is not a number"),
        ("1 2;3 1/2/3", r"'1/2/3' is not a number"),
        ("1 2;nan inf", r"row 2, column 1: 'nan' is not a number"),
        ("1 <b>;3 4", r"row 1, column 2: '<b>' is not a number"),
    ],
)
def test_parse_names_the_place_and_the_fix(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        worked_example.parse_matrix(text, (2, 2))


@given(st.fractions(min_value=-99, max_value=99, max_denominator=2000))
def test_format_reads_back(value: Fraction) -> None:
    text = worked_example.format_number(value)
    assert worked_example.parse_number(text) == value
    assert len(text) <= len(str(value))


@pytest.mark.parametrize(
    ("value", "text"), [("0.50", "0.5"), ("-3", "-3"), ("1/3", "1/3"), ("1/16", "1/16"), ("0", "0")]
)
def test_format_is_short(value: str, text: str) -> None:
    assert worked_example.format_number(Fraction(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction("-0.069"), "−0.069"),
        (Fraction(8, 3), "8/3"),
        (Fraction(1234567, 999999), "≈1.2346"),
        (Fraction(-1, 999999), "≈−0.0000010000"),
        (Gap.MISSING, "?"),
        (Gap.MASKED, "−∞"),
    ],
)
def test_show(value: Fraction | Gap, text: str) -> None:
    assert worked_example.show(value) == text


def test_unknown_names_and_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no variant 'gqa': choose from mla, mha"):
        worked_example.steps("gqa")
    with refusing("unknown_input", variant="mha", unknown="W_DKV"):
        worked_example.steps("mha", {"W_DKV": worked_example.default("W_DKV")})
    with refusing("matrix_shape", name="h", rows=2, columns=4, wanted_rows=4, wanted_columns=1):
        worked_example.steps("mha", {"h": worked_example.default("W_DKV")})
    with pytest.raises(ValueError, match=r"no input 'W_X'"):
        worked_example.default("W_X")
