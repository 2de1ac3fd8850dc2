"""A figure is one dictionary: what it was made of, whoever changes that afterwards."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from mla_engine.figures import Figure, attention_map, over_rank
from mla_engine.figures.figure import figure, typed

WORDS = list("abc")


@pytest.fixture
def validated(monkeypatch):
    """Count the figures that Plotly has made since."""
    made = []

    def noting(self, *args, **options):
        made.append(self)
        make(self, *args, **options)

    make = go.Figure.__init__
    monkeypatch.setattr(go.Figure, "__init__", noting)
    return made


def test_plotly_makes_its_parts_when_one_is_read_and_not_to_send_it(validated):
    fig = attention_map(np.eye(3, dtype=np.float32), WORDS, WORDS)
    sent = json.loads(fig.to_json())
    assert not validated
    assert isinstance(fig, go.Figure)
    assert fig.layout.height == sent["layout"]["height"]
    assert len(validated) == 1


def test_what_happens_to_an_array_afterwards_is_not_drawn():
    lost = np.array([0.5, 0.25])
    fig = over_rank([0, 1], {"lost": lost}, titles=("", ""))
    lost[:] = 7
    assert list(fig.data[0].y) == [0.5, 0.25]


def test_its_own_arrays_cannot_be_changed():
    fig = attention_map(np.eye(3), WORDS, WORDS)
    with pytest.raises(ValueError, match="read-only"):
        fig.spec["data"][0]["z"][0, 0] = 7


def test_an_unknown_part_is_refused_by_plotly():
    fig = figure([{"type": "scatter", "colour": "red"}], height=99)
    assert isinstance(fig, Figure)
    with pytest.raises(ValueError, match="colour"):
        _ = fig.data


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (np.array([1, -128]), "i1"),
        (np.array([1, 128]), "i2"),
        (np.array([1, 2**31 - 1]), "i4"),
        (np.array([1, 2], dtype=np.uint64), "u1"),
        (np.array([1, 2], dtype=np.int16), "i2"),
        (np.array([0.5], dtype=np.float32), "f4"),
        (np.array([0.5]), "f8"),
    ],
)
def test_numbers_are_sent_as_the_smallest_bytes_that_hold_them(values, code):
    assert typed(values)["dtype"] == code
    assert json.loads(go.Figure(go.Scatter(x=values)).to_json())["data"][0]["x"] == typed(values)


@pytest.mark.parametrize("values", [np.array(["a", "b"]), np.array([2**40]), np.array([])])
def test_what_no_bytes_hold_is_sent_as_a_list(values):
    assert typed(values) == values.tolist()
