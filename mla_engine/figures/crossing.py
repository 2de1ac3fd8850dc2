"""Two amounts over a number that doubles, and where they cross."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.ends import named_lines
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import Role, look
from mla_engine.figures.theme import FONT, line, upright

HEIGHT = 420
INK = "#7F858D"
SHORT = 1e-3, 1e4  # amounts between these are written out


def crossing(
    x: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    cross: tuple[float, float] | None = None,
    label: str = "",
    here: int | None = None,
    roles: tuple[Role, Role] = ("mla_absorbed", "mla_each"),
    height: int = HEIGHT,
) -> Figure:
    """Two lines [len(x)] over x on logarithmic axes.

    Args:
        x: ascending, above 0.
        lines: name -> numbers above 0, two of them.
        titles: of the axes.
        cross: where they cross, marked by a ring; None if they do not.
        label: what stands beside the ring.
        here: the reader's own x, an upright line.
        roles: what picks the looks of each line.
        height: pixels.
    """
    hover = f"{titles[0]} %{{x:,}}<br>{titles[1]} %{{y:,.4g}}"
    looks = dict(zip(lines, map(look, roles), strict=True))
    traces = [line(x, y, name, looks[name], hover) for name, y in lines.items()]
    across, up = _axes(titles, np.asarray(x), np.concatenate(list(lines.values())))
    traces += [_ring(cross, label)] if cross else []
    options = {"shapes": upright(here), "hovermode": "closest"}
    return named_lines(traces, looks, across, up, height=height, **options)


def _axes(titles: tuple[str, str], x: np.ndarray, drawn: np.ndarray) -> tuple[dict, dict]:
    axis = {"type": "log", "fixedrange": True, "dtick": 1}
    ends = np.log10((x[0] / 1.15, x[-1])), np.log10((drawn.min() / 1.6, drawn.max() * 1.6))
    across, up = ({"range": end.tolist()} for end in ends)
    plain = {"tickformat": ",~g", "exponentformat": "none"}
    short = drawn.min() > SHORT[0] and drawn.max() < SHORT[1]
    return (
        titled(titles[0]) | axis | across | plain,
        titled(titles[1]) | axis | up | (plain if short else {"exponentformat": "power"}),
    )


def _ring(place: tuple[float, float], label: str) -> dict:
    """Around the place where the lines cross."""
    return {
        "type": "scatter",
        "x": [place[0]],
        "y": [place[1]],
        "mode": "markers+text",
        "marker": {"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 4}},
        "text": [f"<b>{label}</b>"],
        "textposition": "bottom right",
        "textfont": FONT,
        "showlegend": False,
        "hoverinfo": "skip",
    }
