"""Check the maps of a head on any page."""

import html
import re

import numpy as np

from mla_engine import figures
from tests.ui.screen import Chart

MASKED = "masked<extra></extra>"


def hidden(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return a map as it is drawn: NaN where a query does not see a key."""
    return np.where(mask, values, np.nan)


def written(values: np.ndarray, rows: list[str], columns: list[str]) -> list[list[str]]:
    """Return a matrix as its download has it: nine digits, nothing where it is masked."""
    table = [["" if np.isnan(value) else f"{value:.9g}" for value in row] for row in values]
    return [["", *columns], *([name, *row] for name, row in zip(rows, table, strict=True))]


def named(words: tuple[str, ...]) -> list[str]:
    """Return every word with its position, as a hover shows it."""
    return [f"{html.escape(word, quote=False)} ({place})" for place, word in enumerate(words)]


def numbers_of(text: str) -> list[float]:
    """Return every number of a sentence, also −1.234×10⁻⁵."""
    plain = text.replace("−", "-").replace("×10", "e")
    plain = plain.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return [float(found) for found in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", plain)]


def sizes_of(text: str) -> list[float]:
    """Return every size in B or KiB of a sentence, in bytes."""
    words = text.replace("\xa0", " ").replace(",", "").split()
    units = {"B": 1, "KiB": 1024}
    return [float(words[at - 1]) * units[word] for at, word in enumerate(words) if word in units]


def check_map(
    chart: Chart,
    values: np.ndarray,
    words: tuple[str, ...],
    *,
    name: str,
    limits: tuple[float, float],
    head: int,
    cell: tuple[int, int],
    numbers: bool,
    height: int,
) -> None:
    """Assert one head's map: numbers, words, axes, hover, scale, the framed cell."""
    heat, (query, key) = chart.traces[0], cell
    np.testing.assert_array_equal(chart.values(0, "z"), values.astype(np.float32))
    np.testing.assert_array_equal(chart.values(0, "x"), range(len(words)))
    np.testing.assert_array_equal(chart.values(0, "y"), range(len(words)))
    assert (chart.axis("x"), chart.axis("y")) == ("key", "query")
    assert chart.layout["xaxis2"]["ticktext"] == named(words)
    assert chart.layout["yaxis2"]["ticktext"] == named(words)
    assert chart.layout["yaxis"]["range"] == [len(words) - 0.5, -0.5], "queries run downwards"
    assert chart.layout["xaxis"]["range"] == [-0.5, len(words) - 0.5]
    place = f"query %{{y}}<br>key %{{x}}<br>head {head}<br>"
    assert heat["hovertemplate"] == f"{place}{name} %{{z:.6g}}<extra></extra>"
    assert (heat["zmin"], heat["zmax"]) == limits
    assert chart.layout["height"] == height
    frame = chart.layout["shapes"][0]
    assert [frame["x0"], frame["x1"]] == [key - 0.5, key + 0.5]
    assert [frame["y0"], frame["y1"]] == [query - 0.5, query + 0.5]
    if np.isnan(values).any():
        np.testing.assert_array_equal(chart.values(1, "z"), np.where(np.isnan(values), 0, np.nan))
        assert chart.traces[1]["hovertemplate"] == place + MASKED
    printed = [trace["text"] for trace in chart.traces if trace.get("texttemplate") == "%{text}"]
    assert bool(printed) == numbers
    if numbers:  # light words on dark cells and dark ones on light ones, each cell once
        layers = np.array(printed, dtype=object)
        both = [["".join(cell).strip() for cell in row] for row in np.moveaxis(layers, 0, -1)]
        assert both == [[f"{v:.2f}" if np.isfinite(v) else "" for v in row] for row in values]


def check_tiles(
    chart: Chart,
    values: np.ndarray,
    words: tuple[str, ...],
    heads: list[int],
    chosen: int,
    height: int = 560,
) -> None:
    """Assert all heads [h,t,s]: each tile its own head's numbers, the chosen one framed."""
    grid = figures.TileGrid.of(values.shape)
    z, owner = chart.values(0, "z"), chart.values(0, "customdata")
    for tile, head in enumerate(heads):
        top, left = grid.corner(tile)
        place = np.s_[top : top + len(words), left : left + len(words)]
        np.testing.assert_array_equal(z[place], values[tile].astype(np.float32))
        assert (owner[place] == head).all()
    assert np.isfinite(z).sum() == np.isfinite(values).sum()
    assert chart.words == [str(head) for head in heads]
    top, left = grid.corner(heads.index(chosen))
    frame = chart.layout["shapes"][0]
    assert (frame["x0"], frame["y0"]) == (left - 0.5, top - 0.5)
    assert chart.layout["xaxis"]["ticktext"] == named(words) * grid.columns
    assert chart.layout["yaxis"]["ticktext"] == named(words) * grid.rows
    place = "head %{customdata}<br>query %{y}<br>key %{x}<br>"
    assert chart.traces[0]["hovertemplate"] == place + "%{z:.4g}<extra></extra>"
    assert chart.traces[1]["hovertemplate"] == place + MASKED
    assert (chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == (0, 1)
    assert chart.layout["height"] == height


def left_out(chart: Chart) -> dict[str, np.ndarray]:
    """Return the reason for hatching -> the hatched cells."""
    whys = r"(masked|not chosen|outside the window)<"
    found = ((re.search(whys, one.get("hovertemplate", "")), one) for one in chart.traces)
    return {why[1]: np.isfinite(chart.values(one, "z")) for why, one in found if why}


def dotted(chart: Chart) -> set[tuple[int, int]]:
    """Return the cells with a dot, by row and column."""
    (dots,) = (one for one in chart.traces if one.get("mode") == "markers")
    return set(zip(*(chart.values(dots, side).astype(int).tolist() for side in "yx"), strict=True))
