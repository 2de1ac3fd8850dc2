"""Numbers measured several times: the mean as a mark, a line or a bar, and how far they spread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mla_engine.figures.bars import named_rows, totals_at_ends
from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import Look
from mla_engine.figures.placed import notes as unplaced
from mla_engine.figures.placed import placed, span
from mla_engine.figures.theme import (
    FONT,
    MASKED,
    few_ticks,
    legend_above,
    line,
    ticks_at,
    upright,
)
from mla_engine.figures.theme import level as level_line

HEIGHT = 420
BESIDE = 0.26  # octaves between marks at one place
PERCENT = (0, 104)
THIN = 1.2  # pixels of a line
LOG_TICKS = [lead * 10**power for power in range(-4, 7) for lead in (1, 2, 5)]
GAP = 2  # percent between a bar's spread and its text


@dataclass(frozen=True, eq=False)
class Band:
    """Places x, and there the mean, the least and the most of what was measured, [n] each."""

    x: Sequence[float]
    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @property
    def bar(self) -> dict:
        """From the least to the most, around the mean."""
        mean, least, most = map(placed, (self.mean, self.least, self.most))
        up, down = (np.nan_to_num(side) for side in (most - mean, mean - least))
        return {"type": "data", "symmetric": False, "array": up, "arrayminus": down}


def band_marks(
    bands: Mapping[str, Band],
    *,
    looks: Mapping[str, Look],
    titles: tuple[str, str],
    level: tuple[str, float] | None = None,
    least: float = 0,
    height: int = HEIGHT,
) -> Figure:
    """Draw percentages over amounts that double: marks with bars, those at one place side by side.

    Args:
        bands: name -> its points, x above 0, percent.
        looks: name -> how it looks; names with several points are joined by a line.
        titles: of the axes.
        level: the name and the height of a level line.
        least: the percentage at which the axis begins.
        height: pixels.
    """
    traces = [
        _marks(name, band, looks[name], titles, [_beside(bands, name, x) for x in band.x])
        for name, band in bands.items()
    ]
    places = sorted({x for band in bands.values() for x in band.x})
    ends = [float(np.log2(places[0]) - 0.6), float(np.log2(places[-1]) + 0.6)]
    ticks = {"tickvals": np.log2(places), "ticktext": [f"{place:,}" for place in places]}
    across = {"range": ends, "fixedrange": True, "showgrid": False}
    up = {"range": [least, 100 + (100 - least) / 25], "fixedrange": True}
    stroke, name = _level(*level) if level else ([], [])
    return figure(
        traces,
        height=height,
        x=titled(titles[0]) | across | ticks,
        y=titled(titles[1]) | up,
        shapes=stroke,
        annotations=[*name, *unplaced(traces, looks, across, up)],
        **legend_above(shown=True),
    )


def _beside(bands: Mapping[str, Band], name: str, x: float) -> float:
    """Return the octaves by which marks move so that those at one place stand side by side."""
    here = [other for other, band in bands.items() if x in band.x]
    return BESIDE * (here.index(name) - (len(here) - 1) / 2)


def _marks(
    name: str, band: Band, its: Look, titles: tuple[str, str], shifts: Sequence[float]
) -> dict:
    return {
        "type": "scatter",
        "x": np.log2(band.x) + shifts,
        "y": np.asarray(band.mean),
        "name": name,
        "mode": "lines+markers" if len(band.x) > 1 else "markers",
        "customdata": np.stack([band.x, band.least, band.most], axis=-1),
        "error_y": band.bar | {"thickness": 3, "width": 8},
        "line": {"color": its.colour, "dash": its.dash, "width": THIN},
        "marker": {"color": its.colour, "symbol": its.mark, "size": 13},
        "hovertemplate": f"{name}<br>{titles[0]} %{{customdata[0]:,}}<br>%{{y:.1f}} "
        "(%{customdata[1]:.1f}–%{customdata[2]:.1f})<extra></extra>",
    }


def _level(name: str, height: float) -> tuple[list[dict], list[dict]]:
    """Return a dotted line across with its name over the left end."""
    place = {"x": 0, "xref": "x domain", "xanchor": "left", "y": height, "yref": "y"}
    note = {"text": name, "showarrow": False, "font": FONT, "yanchor": "bottom"}
    shape = level_line(height, {"color": MASKED, "dash": "dot", "width": 3})
    return [shape], [place | note]


def band_lines(
    bands: Mapping[str, Band],
    *,
    looks: Mapping[str, Look],
    titles: tuple[str, str],
    singles: Mapping[str, Sequence[tuple[Sequence[float], Sequence[float]]]] | None = None,
    limits: tuple[float, float] = PERCENT,
    log: bool = False,
    ticks: Sequence[int] | None = None,
    at: float | None = None,
    height: int = HEIGHT,
) -> Figure:
    """Draw means as lines, each with its name at the end.

    Args:
        bands: name -> its points.
        looks: name -> how its line looks.
        titles: of the axes.
        singles: name -> (x, y) of every measurement, as thin lines in place of bars.
        limits: ends of the y axis.
        log: the y axis is logarithmic.
        ticks: the places of x to print, and no others.
        at: a place to mark by an upright line.
        height: pixels.
    """
    traces = [
        _single(xy, name, looks[name]) for name, every in (singles or {}).items() for xy in every
    ]
    traces += [
        _line(name, band, looks[name], titles[0], bare=singles is not None)
        for name, band in bands.items()
    ]
    places = np.concatenate([np.asarray(trace["x"], dtype=np.float64) for trace in traces])
    heights = np.concatenate([placed(trace["y"]) for trace in traces])
    limits = span(limits, heights, log=log)
    x, y = _axes(titles, float(places.min()), float(places.max()), limits, log=log)
    x |= ticks_at(ticks) if ticks else {}
    return named_lines(traces, looks, x, y, height=height, beside=True, shapes=upright(at))


def _axes(
    titles: tuple[str, str], first: float, last: float, limits: tuple[float, float], *, log: bool
) -> tuple[dict, dict]:
    room = 0.03 * (last - first) or 0.5
    across = {"range": [first - room, last], "tickangle": 0, "nticks": few_ticks(last)}
    up = {"range": limits}
    if log:
        up = {"type": "log", "range": np.log10(limits).tolist()}
        up |= {"tickvals": LOG_TICKS, "ticktext": [f"{tick:,g}" for tick in LOG_TICKS]}
    return (
        titled(titles[0]) | across | {"fixedrange": True, "showgrid": False},
        titled(titles[1]) | up | {"fixedrange": True},
    )


def _single(xy: tuple[Sequence[float], Sequence[float]], name: str, its: Look) -> dict:
    """Return one measurement of several; it has no name, which stands at the mean's end."""
    return {
        "type": "scatter",
        "x": np.asarray(xy[0]),
        "y": np.asarray(xy[1], dtype=np.float64),
        "mode": "lines",
        "legendgroup": name,
        "opacity": 0.5,
        "line": {"color": its.colour, "width": THIN},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _line(name: str, band: Band, its: Look, title: str, *, bare: bool) -> dict:
    spread = "(%{customdata[0]:,.3r}–%{customdata[1]:,.3r})"
    return line(band.x, band.mean, name, its, f"{title} %{{x}}<br>%{{y:,.3r}} {spread}") | {
        "mode": "lines" if bare else "lines+markers",
        "cliponaxis": False,
        "customdata": np.stack([band.least, band.most], axis=-1),
        "error_y": None if bare else band.bar | {"thickness": 1.5, "width": 0},
        "marker": {"symbol": its.mark, "size": 10},
    }


def band_bars(
    names: Sequence[str],
    band: Band,
    *,
    looks: Sequence[Look],
    axis: str,
    totals: Sequence[str],
    height: int = HEIGHT,
) -> Figure:
    """Draw lying bars of percentages, one row a name from the top, each with its spread.

    Args:
        names: what the rows are called, in Plotly's text.
        band: a row each at x = 0, 1, 2 ...; what was not measured is NaN.
        looks: of the rows.
        axis: title of the axis of percentages.
        totals: a text behind the end of each row.
        height: pixels.
    """
    bar = {
        "type": "bar",
        "y": list(band.x),
        "x": np.asarray(band.mean),
        "orientation": "h",
        "marker": {"color": [its.colour for its in looks], "opacity": 0.75},
        "error_x": band.bar | {"thickness": 3, "width": 8, "color": MASKED},
        "customdata": np.stack([list(names), band.least, band.most], axis=-1),
        "hovertemplate": "%{customdata[0]}<br>%{x:.1f} "
        "(%{customdata[1]:.1f}–%{customdata[2]:.1f})<extra></extra>",
    }
    grid = {"tickvals": [0, 25, 50, 75, 100], "gridcolor": MASKED}
    return figure(
        [bar, totals_at_ends(np.nan_to_num(placed(band.most)) + GAP, totals)],
        height=height,
        x=titled(axis) | {"range": [0, 135], "fixedrange": True} | grid,
        y=named_rows(names),
        showlegend=False,
        bargap=0.35,
    )
