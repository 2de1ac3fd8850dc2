"""Names at the ends of lines: near their line, apart from one another, in its colour."""

from itertools import pairwise

import numpy as np
import pytest

from mla_engine.figures import (
    VARIANTS,
    bars,
    cache_growth,
    crossing,
    over_rank,
    resized,
    roofline,
    spectrum,
)
from mla_engine.figures.ends import apart, rows


def test_names_that_have_room_stay_where_their_lines_end():
    assert apart([10, 60, 110], [20, 20, 20], 200) == [10, 60, 110]


def test_names_that_would_overlap_move_as_little_as_it_takes():
    assert apart([50, 54], [20, 20], 200) == pytest.approx([42, 62])
    assert apart([0, 0, 0], [20, 20, 40], 200) == pytest.approx([10, 30, 60])
    assert apart([195, 199], [20, 20], 200) == pytest.approx([170, 190])


@pytest.mark.parametrize("seed", range(20))
def test_none_overlap_and_all_are_inside(seed):
    rng = np.random.default_rng(seed)
    wanted = sorted(rng.uniform(0, 300, 6))
    heights = rng.choice([20, 40], 6)
    places = apart(wanted, list(heights), 300)
    edges = [(at - high / 2, at + high / 2) for at, high in zip(places, heights, strict=True)]
    assert edges[0][0] >= -1e-9
    assert edges[-1][1] <= 300 + 1e-9
    assert all(below[1] <= above[0] + 1e-9 for below, above in pairwise(edges))


def test_a_long_name_stands_in_short_rows():
    assert rows("MLA, expanded each step") == ["MLA,", "expanded", "each step"]
    assert rows("MLA，每步展开") == ["MLA，", "每步展开"]
    assert rows("按权重选的潜在向量") == ["按权重选的", "潜在向量"], "about as long as 12 letters"
    assert rows("W<sup>K</sup> over W<sup>V</sup>") == ["W<sup>K</sup> over W<sup>V</sup>"]


def test_a_name_has_its_lines_colour_and_place():
    held = {"MHA": np.array([1, 2]) * 2**30, "MLA": np.array([1, 1.01]) * 2**30}
    fig = cache_growth([1, 2], held, roles=("mha", "mla_absorbed"), log=False)
    first, second = fig.layout.annotations
    assert VARIANTS["mha"].colour in first.text
    assert (first.x, first.y) == (2, 2)
    assert "var(--way-mla-absorbed," in second.text
    assert first.xanchor == "left"
    assert fig.layout.margin.r > 30
    assert not fig.layout.showlegend


def test_names_part_again_when_the_chart_is_lowered():
    falling = {name: np.array([1.0, 0.0]) for name in ("one", "two", "three")}
    fig = over_rank([0, 1], falling, titles=("", ""), height=400)
    tall = sorted(note.yshift for note in fig.layout.annotations)
    low = sorted(note.yshift for note in resized(fig, 260).layout.annotations)
    assert np.diff(tall) == pytest.approx(np.diff(low))
    assert min(np.diff(low)) > 16


@pytest.mark.parametrize("height", [100, 277, 350, 420])
def test_a_chart_stays_as_high_as_its_names_need(height):
    names = [f"KDA number {n}, one state" for n in range(6)]  # two rows each
    lines = {name: np.array([1.0, 10 + n]) for n, name in enumerate(names)}
    fig = resized(crossing([1, 2], lines, titles=("", ""), roles=range(6)), height)
    low, high = fig.layout.yaxis.range
    plot = fig.layout.height - fig.layout.margin.t - 62  # below it ticks and a title
    middles = [(n.y - low) / (high - low) * plot + n.yshift for n in fig.layout.annotations]
    assert min(middles) >= 22
    assert max(middles) <= plot - 22
    assert min(np.diff(sorted(middles))) >= 44
    assert fig.layout.height == max(height, 12 + 62 + 6 * 45)


def test_charts_stay_as_high_as_rows_and_legends_need():
    names = ["MHA", "DeepSeek-V3<br>/ R1 (671B)", "c<sub>Q</sub>"]
    fig = bars(names, {"bytes": [1, 2, 3]}, legend=False, height=400)
    around = fig.layout.margin.t + 62
    assert resized(fig, 100).layout.height == around + 25 + 45 + 30
    assert resized(fig, 390).layout.height == 390
    told = bars(
        names, {"bytes": [1, 2, 3]}, totals=["1", "2", "3<br>/ 2"], legend=False, height=400
    )
    assert resized(told, 100).layout.height == around + 25 + 45 + 45
    parts = {name: [1, 2, 3] for name in ("keys", "values", "latents", "index keys")}
    listed = bars(names, parts, entries=110, height=400)
    assert resized(listed, 100).layout.height == 4 * 25 + 62 + 25 + 45 + 30
    calls = {f"call {n}": (10.0 * n, 1e12) for n in range(1, 12)}
    titles = ("FLOP per byte", "TFLOP/s")
    roof = roofline((1e15, 1e12), calls, titles=titles, ridge="ridge", below="{name}, measured")
    assert resized(roof, 100).layout.height == 11 * 25 + 62 + 100
    low = bars(names, {"bytes": [1, 2, 3]}, legend=False, height=around + 20)
    assert resized(low, 50).layout.height == around + 20, "never higher than it was"


def test_lines_that_end_early_have_their_names_there():
    fig = spectrum({"both": np.arange(10, 0, -1.0), "one": np.arange(10, 5, -1.0)})
    assert [note.x for note in fig.layout.annotations if note.name == "end"] == [10, 5]


def test_what_falls_to_nothing_has_its_name_where_it_was_last_seen():
    both = {"falls": np.array([1.0, 0.1, 0.0]), "nothing": np.zeros(3)}
    fig = spectrum(both)
    falls, nothing = (note for note in fig.layout.annotations if note.name == "end")
    assert (falls.x, falls.y) == (2, -1)
    assert nothing.y == fig.layout.yaxis.range[0]


def test_a_crossing_that_x_does_not_reach_has_no_ring():
    lines = {"absorbed": np.array([1.0, 8]), "expanded": np.array([4.0, 5])}
    for place, rings in ((2, 1), (4, 1), (8, 1), (1, 0), (9, 0)):
        fig = crossing([2, 8], lines, titles=("", ""), cross=(place, 4.0), label="here")
        assert sum(trace.mode == "markers+text" for trace in fig.data) == rings
        assert len(fig.data) == len(lines) + rings
