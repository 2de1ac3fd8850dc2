"""A value without a place on its axis changes nothing about the others, and is written there."""

import re

import numpy as np
import pytest

from mla_engine import figures
from mla_engine.figures import Band, Spread, Tile, looks

NAN, INF = float("nan"), float("inf")
LINEAR, LOG = (NAN, INF, -INF), (0.0, NAN, INF, -INF)
TITLES, WORDS = ("across", "up"), list("abcd")
LOOK = looks.look("key")
RISING = [1.0, 2.0, 3.0, 4.0]  # whose second number the value replaces; it is no end of them
UPPER = [9.0, 8.0, 7.0, 6.0]


def put(value):
    return np.array([RISING[0], value, *RISING[2:]])


def pair(value):
    return {"one": put(value), "other": np.array(UPPER)}


def band(value):
    return Band([1, 2, 3, 4], put(value), put(value) - 0.1, put(value) + 0.1)


def squared(value):
    values = np.tile(np.array(RISING) / 10, (4, 1))
    values[2, 1] = value / 10
    return values


SEEN = np.tri(4, dtype=bool)
BARS = {
    "stacked": lambda value: figures.bars(WORDS, pair(value), limits=(0, 20)),
    "totals": lambda value: figures.bars(WORDS, pair(value), totals=WORDS),
    "beside": lambda value: figures.bars(WORDS, pair(value), stacked=False),
    "limits": lambda value: figures.bars(WORDS, pair(value), stacked=False, limits=(0, 20)),
    "heads": lambda value: figures.head_shares(
        [0, 1, 2, 3], pair(value), roles=("key", "value"), axes=TITLES
    ),
    "chosen": lambda value: figures.chosen_keys(
        WORDS, pair(value), SEEN[2], titles=TITLES, said=("", "")
    ),
}
LOG_BARS = {
    "log": lambda value: figures.bars(WORDS, pair(value), stacked=False, log=True),
    "log limits": lambda value: figures.bars(
        WORDS, pair(value), stacked=False, log=True, limits=(0.1, 99)
    ),
    "log totals": lambda value: figures.bars(
        WORDS, pair(value), stacked=False, log=True, totals=WORDS
    ),
}
LINES = {
    "growth": lambda value: figures.cache_growth([1, 2, 3, 4], pair(value), log=False, unit="B"),
    "curves": lambda value: figures.curves([1, 2, 3, 4], pair(value), titles=TITLES),
    "ranks": lambda value: figures.over_rank([1, 2, 3, 4], pair(value), titles=TITLES),
    "one": lambda value: figures.over_rank([1, 2, 3, 4], {"one": put(value)}, titles=TITLES),
    "answers": lambda value: figures.right_answers(
        [1, 2, 3, 4], pair(value), roles=(0, 1), marked=("other", ""), titles=TITLES
    ),
    "bands": lambda value: figures.band_lines(
        {"one": band(value)}, looks={"one": LOOK}, titles=TITLES
    ),
    "marks": lambda value: figures.band_marks(
        {"one": band(value)}, looks={"one": LOOK}, titles=TITLES
    ),
    "spread": lambda value: figures.head_spread(
        [0, 1, 2, 3],
        Spread(put(value), put(value), put(value)),
        role="key",
        axes=TITLES,
        limits=(0, 9),
    ),
}
LOG_LINES = {
    "growth": lambda value: figures.cache_growth([1, 2, 3, 4], pair(value)),
    "curves": lambda value: figures.curves([1, 2, 3, 4], pair(value), titles=TITLES, log=True),
    "ranks": lambda value: figures.over_rank([1, 2, 3, 4], pair(value), titles=TITLES, log=True),
    "spectrum": lambda value: figures.spectrum(pair(value)),
    "crossing": lambda value: figures.crossing([1, 2, 3, 4], pair(value), titles=TITLES),
    "bands": lambda value: figures.band_lines(
        {"one": band(value)}, looks={"one": LOOK}, titles=TITLES, log=True, limits=(0.1, 9)
    ),
    "spread": lambda value: figures.head_spread(
        [0, 1, 2, 3],
        Spread(put(value), put(value), put(value)),
        role="key",
        axes=TITLES,
        limits=(0.1, 9),
        log=True,
    ),
}
MAPS = {
    "attention": lambda value: figures.attention_map(squared(value), WORDS, WORDS, mask=SEEN),
    "scores": lambda value: figures.score_map(squared(value), WORDS, WORDS, mask=SEEN),
    "tiles": lambda value: figures.head_tiles(
        np.stack([squared(value), squared(0.2)]), [0, 1], mask=SEEN
    ),
}


def each(drawings, values):
    return [
        pytest.param(draw, value, id=f"{name}-{value}")
        for name, draw in drawings.items()
        for value in values
    ]


def plot(fig):
    """Return what says where a figure's values lie: its axes, with finite ends, and its bars."""
    axes = [axis for name, axis in fig.layout.to_plotly_json().items() if "axis" in name]
    ends = [axis["range"] for axis in axes if "range" in axis]
    assert np.isfinite(ends).all()
    return ends, [axis.get("type") for axis in axes], fig.layout.barmode


def moved(fig, other):
    """Return how many coordinates of a series differ, for that in which most do."""
    pairs = [
        (np.array(one[side], dtype=float), np.array(two[side], dtype=float))
        for one, two in zip(fig.data, other.data, strict=False)
        for side in ("xyz" if one.type == "heatmap" else "xy")
        if one[side] is not None
    ]
    return max(int((~np.isclose(one, two, rtol=0, equal_nan=True)).sum()) for one, two in pairs)


def texts(fig):
    """Return what is written in a figure."""
    said = [note.text for note in fig.layout.annotations]
    said += [text for trace in fig.data for text in trace.text or () if "text" in trace]
    return [re.sub("<.*?>", "", text).strip() for text in said]


def written(fig):
    every = " ".join(texts(fig))
    return re.findall(r"−?∞|–|(?<!\S)0(?!\S)", every)


def sign(value):
    return {"nan": "–", "inf": "∞", "-inf": "−∞", "0.0": "0"}[str(value)]


@pytest.mark.parametrize(("draw", "value"), [*each(BARS, LINEAR), *each(LOG_BARS, LOG)])
def test_a_bar_without_length_is_written_and_moves_no_other(draw, value):
    fig, whole = draw(value), draw(RISING[1])
    assert plot(fig) == plot(whole)
    assert moved(fig, whole) <= 1
    assert written(fig) == [sign(value)]
    assert not written(whole)


@pytest.mark.parametrize(("draw", "value"), [*each(LINES, LINEAR), *each(LOG_LINES, LOG)])
def test_a_point_without_a_height_is_written_and_moves_no_other(draw, value):
    fig, whole = draw(value), draw(RISING[1])
    assert plot(fig) == plot(whole)
    assert moved(fig, whole) <= 1
    assert written(fig) == ([] if np.isnan(value) else [sign(value)])  # which is a gap
    assert not written(whole)


@pytest.mark.parametrize(("draw", "value"), each(MAPS, LINEAR))
def test_a_cell_that_has_no_colour_is_not_said_to_be_masked(draw, value):
    fig, whole = draw(value), draw(RISING[1])
    assert plot(fig) == plot(whole)
    first, before = (np.array(one.data[0].z, dtype=float) for one in (fig, whole))
    assert (~np.isclose(first, before, equal_nan=True)).sum() == 1
    clear = {
        re.sub("<extra>.*", "", trace.hovertemplate).rpartition("<br>")[2]: trace.z
        for trace in fig.data
        if trace.type == "heatmap" and "%{z" not in (trace.hovertemplate or "%{z")
    }
    assert set(clear) == {"masked", "not a finite number"}
    assert np.isfinite(np.array(clear["not a finite number"], dtype=float)).sum() == 1


def test_all_that_has_no_place_leaves_an_axis():
    gone = {"one": np.full(4, NAN), "other": np.zeros(4)}
    for fig in (
        figures.bars(WORDS, gone, stacked=False, log=True, totals=WORDS),
        figures.cache_growth([1, 2, 3, 4], gone),
        figures.curves([1, 2, 3, 4], gone, titles=TITLES, log=True),
        figures.over_rank([1, 2, 3, 4], gone, titles=TITLES, log=True),
        figures.spectrum(gone),
        figures.crossing([1, 2, 3, 4], gone, titles=TITLES),
    ):
        assert plot(fig)


@pytest.mark.parametrize("value", LOG)
def test_a_ratio_without_a_place_moves_no_other(value):
    fig, whole = (
        figures.ratio_bars("ratio", {"a": 0.5, "b": one, "c": 4.0}, WORDS[:3])
        for one in (value, 2.0)
    )
    assert plot(fig) == plot(whole)
    assert moved(fig, whole) <= 1
    assert fig.data[1].x[1] == 1, "its own text stands where its bar would begin"


@pytest.mark.parametrize("place", [(0.0, 0.0), (INF, 1e12), (10.0, NAN), (NAN, NAN)])
def test_a_call_without_a_place_is_written_at_the_edge(place):
    fig, whole = (
        figures.roofline((1e15, 1e12), {"a": (10.0, 1e12), "b": one, "c": (99.0, 1e13)})
        for one in (place, (20.0, 1e12))
    )
    assert plot(fig) == plot(whole)
    (note,) = [one for one in fig.layout.annotations if one.name == "unplaced"]
    assert np.isfinite([note.x, note.y]).all()
    assert written(fig)


def test_maps_in_small_leave_out_one_cell():
    values = squared(2.0)[None].repeat(2, 0)
    lost = values.copy()
    lost[0, 2, 1] = NAN
    tiles = [Tile(0, 0, "first"), Tile(1, 1, "second")]
    drawn = [
        figures.head_atlas(figures.small_maps(one, 2), tiles, tokens=4, columns=2, names=("", "x"))
        for one in (values, lost)
    ]
    assert moved(*drawn) == 1
    assert figures.pixels(lost[0], signed=True) != figures.pixels(values[0], signed=True)
    assert figures.pixels(np.full((2, 2), NAN), signed=True).startswith("data:image/png")
