"""Lines over the rank of a latent, and falling singular values; one rank can be marked."""

from collections.abc import Mapping, Sequence

import numpy as np

from kvcount.refusals import RefusedError
from mla_engine.figures.ends import named_lines, rows
from mla_engine.figures.figure import Figure, titled
from mla_engine.figures.looks import Look, Role, look
from mla_engine.figures.placed import amounts_axis, ends, placed
from mla_engine.figures.theme import FONT, line, upright

HEIGHT, SPECTRUM_HEIGHT = 420, 380
TOP = 138  # per cent: two rows of a name stand above the line of 100
ROLES = ("key", "value", "score", "output")
SPECTRUM_ROLES = ("latent", "key", "value", "query")
DECADES = 20  # below the largest; what is smaller is rounding


def over_rank(
    ranks: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    titles: tuple[str, str],
    at: int | None = None,
    log: bool = False,
    roles: Sequence[Role] = ROLES,
    height: int = HEIGHT,
) -> Figure:
    """Draw each line's numbers [len(ranks)] over the rank; axes begin at 0.

    Args:
        ranks: ascending.
        lines: name -> numbers, as many lines as there are `roles` at most.
        titles: of the axes.
        at: a rank to mark by an upright line.
        log: the y axis is logarithmic.
        roles: what picks the looks of each line.
        height: pixels.

    Raises:
        ValueError: more lines than roles.
    """
    if len(lines) > len(roles):
        raise RefusedError("line_styles", lines=len(lines), styles=len(roles))
    hover = f"{titles[0]} %{{x:,}}<br>%{{y:.4g}}"
    looks = dict(zip(lines, map(look, roles), strict=False))
    traces = [line(ranks, y, name, looks[name], hover) for name, y in lines.items()]
    x, y = _axes(titles, ranks[-1], np.concatenate([one["y"] for one in traces]), log=log)
    named, shapes = (looks if len(looks) > 1 else {}), upright(at)
    return named_lines(traces, named, x, y, height=height, shapes=shapes, hovermode="closest")


def _axes(titles: tuple[str, str], most: int, drawn: np.ndarray, *, log: bool) -> tuple[dict, dict]:
    common = {"fixedrange": True, "nticks": 5}
    across = {"range": [0, most], "tickformat": ",", "tickangle": 0}
    return (
        titled(titles[0]) | common | across,
        titled(titles[1]) | common | amounts_axis(drawn, log=log) | {"tickformat": ",~g"},
    )


def right_answers(
    sizes: Sequence[int],
    lines: Mapping[str, np.ndarray],
    *,
    roles: Sequence[Role],
    marked: tuple[str, str],
    titles: tuple[str, str],
    at: int | None = None,
    height: int = HEIGHT,
) -> Figure:
    """Draw right answers in per cent over the numbers cached; one point is marked.

    Args:
        sizes: ascending.
        lines: name -> per cent [len(sizes)], NaN where there is no such size.
        roles: what picks the looks of each line.
        marked: the line whose last point is marked, and what stands above that.
        titles: of the axes.
        at: a size to mark by an upright line.
        height: pixels.
    """
    looks = dict(zip(lines, map(look, roles), strict=True))
    hover = f"{titles[0]} %{{x:,}}<br>%{{y:.4g}}"
    traces = [line(sizes, y, name, looks[name], hover) for name, y in lines.items()]
    x, y = _axes(titles, sizes[-1], np.array([0.0, 100.0]), log=False)
    y |= {"range": [0, TOP], "tickvals": [0, 25, 50, 75, 100]}
    name, text = marked
    own = looks.pop(name)
    if np.isfinite(placed(lines[name])).any():
        traces.append(_mark(sizes, lines[name], text, own, hover))
    shapes = upright(at)
    return named_lines(traces, looks, x, y, height=height, shapes=shapes, hovermode="closest")


def _mark(sizes: Sequence[int], numbers: np.ndarray, text: str, its: Look, hover: str) -> dict:
    """Return a mark on a line's last point, its name above it to the left."""
    last = int(np.flatnonzero(np.isfinite(placed(numbers)))[-1])
    return {
        "type": "scatter",
        "x": [sizes[last]],
        "y": [numbers[last]],
        "name": text,
        "mode": "markers+text",
        "text": ["<br>".join(its.worded(f"<b>{row}</b>") for row in rows(text))],
        "textposition": "top left",
        "textfont": FONT,
        "marker": {"symbol": "circle", "size": 16, "color": its.colour},
        "cliponaxis": False,
        "hovertemplate": f"{text}<br>{hover}<extra></extra>",
    }


def spectrum(
    values: Mapping[str, np.ndarray],
    *,
    at: int | None = None,
    at_name: str = "",
    axes: tuple[str, str] = ("number", "singular value"),
    decades: int = DECADES,
    height: int = SPECTRUM_HEIGHT,
) -> Figure:
    """Draw lines of falling values over their number, counted from 1.

    Args:
        values: name -> values [n], falling.
        at: a number to mark by an upright line.
        at_name: what stands beside that line.
        axes: titles of the axes of numbers and of values.
        decades: how far below the largest value the axis reaches at most.
        height: pixels.
    """
    hover = f"{axes[0]} %{{x:,}}<br>%{{y:.4g}}"
    looks = dict(zip(values, map(look, SPECTRUM_ROLES), strict=False))
    traces = [
        line(np.arange(1, len(falling) + 1), falling, name, looks[name], hover)
        for name, falling in values.items()
    ]
    most, least = _ends(values, decades)
    longest = max(len(falling) for falling in values.values())
    across = {"range": [0, longest + 1], "nticks": 5, "tickformat": ",", "tickangle": 0}
    span = [float(np.log10(least) - 0.15), float(np.log10(most) + 0.3)]
    x = titled(axes[0]) | across | {"fixedrange": True}
    y = titled(axes[1]) | {"type": "log", "range": span, "fixedrange": True} | _ticks(most, least)
    notes = [] if at is None else [_beside(at, at_name, (longest + 1) / 2)]
    named = looks if len(looks) > 1 else {}
    options = {"notes": notes, "shapes": upright(at, layer=None)}
    return named_lines(traces, named, x, y, height=height, **options)


def _ends(values: Mapping[str, np.ndarray], decades: int) -> tuple[float, float]:
    """Return the largest value, and the least that is at most so many decades below."""
    drawn = np.concatenate([placed(falling, log=True) for falling in values.values()])
    _, most = ends(drawn)
    return most, float(drawn[drawn > most * 10.0**-decades].min(initial=most))


def _ticks(most: float, least: float) -> dict[str, object]:
    """Return ticks at powers of ten; within two decades at 1, 2 and 5 of each, written out."""
    if most / least >= 100:
        return {"dtick": 1 if most / least < 1e6 else None, "exponentformat": "power"}
    powers = range(int(np.floor(np.log10(least))) - 1, int(np.ceil(np.log10(most))) + 1)
    values = [lead * 10.0**power for power in powers for lead in (1, 2, 5)]
    return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}


def _beside(at: int, name: str, middle: float) -> dict:
    """Return the note beside the upright line, on the side where there is more room."""
    side = "right" if at > middle else "left"
    return {
        "name": "here",
        "x": at,
        "y": 1,
        "yref": "paper",
        "text": name,
        "showarrow": False,
        "xanchor": side,
        "xshift": -8 if side == "right" else 8,
        "yanchor": "top",
        "font": FONT,
    }
