"""Check the lines and bars of any page."""

from collections.abc import Iterable, Mapping

from numpy.testing import assert_allclose, assert_array_equal

from tests.ui.screen import Chart


def check_lines(
    chart: Chart,
    x: Iterable[float],
    lines: Mapping[str, Iterable[float]],
    titles: tuple[str, str],
    **close: float,
) -> None:
    """Assert that every line has these heights over x, and its hover begins with its name and x."""
    assert (chart.axis("x"), chart.axis("y")) == titles
    assert [name for name in chart.names if name] == list(lines)
    for name, heights in lines.items():
        assert_array_equal(chart.values(name, "x"), list(x))
        assert_allclose(chart.values(name, "y"), list(heights), **{"rtol": 1e-12} | close)
        hover = chart.trace(name)["hovertemplate"]
        assert hover.startswith(f"{name}<br>{titles[0]} %{{x:")


def check_bars(
    chart: Chart,
    parts: Mapping[str, Iterable[float]],
    rows: list[str],
    axis: str,
    ends: Iterable[str],
) -> None:
    """Assert horizontal bars of these parts, a row each, with its total at the end."""
    assert chart.axis("x") == axis
    assert chart.layout["yaxis"]["ticktext"] == rows
    assert chart.names == [*parts, ""]
    for part, amounts in parts.items():
        assert_allclose(chart.values(part, "x"), list(amounts), rtol=1e-12)
        trace = chart.trace(part)
        assert trace["customdata"] == rows
        hover = f"%{{customdata}}<br>{part}<br>%{{x:,.4g}} {axis}<extra></extra>"
        assert trace["hovertemplate"] == hover
    assert chart.traces[-1]["text"] == [f" {end}" for end in ends]
    sums = [sum(row) for row in zip(*parts.values(), strict=True)]
    assert_allclose(chart.traces[-1]["x"], sums, rtol=1e-12)
