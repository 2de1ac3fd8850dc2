"""The key of what was drawn: equal for equal arguments, another for any other."""

from dataclasses import dataclass
from functools import partial
from pickle import PicklingError

import numpy as np
import pytest
import torch

from ui.engine.digest import digest


@dataclass(frozen=True)
class Point:
    """An argument of a chart."""

    x: float
    name: str


def build(*args: object, **options: object) -> None:
    """Stand for a function that draws."""


def other(*args: object, **options: object) -> None:
    """Stand for a function that draws something else."""


ONES = np.ones((2, 3), dtype=np.float32)
DIFFERENT = [
    partial(build, ONES),
    partial(other, ONES),
    partial(build, ONES.T),
    partial(build, ONES.astype(np.float64)),
    partial(build, ONES * 2),
    partial(build, ONES.tolist()),
    partial(build, ONES, ONES),
    partial(build, (ONES,), ()),
    partial(build, values=ONES),
    partial(build, "1"),
    partial(build, 1),
    partial(build, 1.0),
    partial(build, True),
    partial(build, None),
    partial(build, ("ab", "c")),
    partial(build, ("a", "bc")),
    partial(build, ["a", ["b", "c"]]),
    partial(build, [["a", "b"], "c"]),
    partial(build, Point(1.0, "a")),
    partial(build, Point(1.0, "b")),
    partial(build, np.array(["a", "b"], dtype=object)),
    partial(build, np.array(["a", "c"], dtype=object)),
    partial(build, np.zeros((0, 3))),
    partial(build, range(3)),
    partial(build, {"a": 1}),
    partial(build, {"a": 2}),
]


def test_any_other_arguments_have_another_digest():
    assert len({digest(call) for call in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize("n", range(len(DIFFERENT)))
def test_equal_arguments_have_one_digest(n):
    call = DIFFERENT[n]
    args = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in call.args]
    assert digest(partial(call.func, *args, **call.keywords)) == digest(call)


def test_a_view_and_a_tensor_count_by_their_numbers():
    whole = np.arange(12.0).reshape(3, 4)
    assert digest(whole[:, 1]) == digest(whole[:, 1].copy())
    assert digest(torch.tensor(whole)) == digest(whole)


def test_one_changed_number_is_seen():
    values = np.zeros((500, 500))
    before = digest(values)
    values[250, 250] = 1e-300
    assert digest(values) != before


def test_what_it_does_not_know_is_refused():
    for value in (lambda: 2, (n for n in ())):
        with pytest.raises((PicklingError, AttributeError, TypeError), match="pickle"):
            digest((1, value))
