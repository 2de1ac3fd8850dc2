"""Values for which an axis has no place: none moves another, each is written where it belongs."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.looks import Look
from mla_engine.figures.theme import FONT

NO_NUMBER, INFINITE = "–", "∞"


def placed(values: Sequence[float] | np.ndarray, *, log: bool = False) -> np.ndarray:
    """Return the values in float64, NaN where the axis has no place for one.

    That is what is not finite, and on a logarithmic axis what is not above 0.
    """
    found = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(found) & ((found > 0) | (not log)), found, np.nan)


def ends(values: Sequence[float] | np.ndarray, *, log: bool = False) -> tuple[float, float]:
    """Return the least and the largest value that has a place; 1 and 1 where none has."""
    found = placed(values, log=log)
    there = found[np.isfinite(found)]
    return (float(there.min()), float(there.max())) if there.size else (1.0, 1.0)


def span(
    limits: tuple[float, float] | None, values: Sequence[float] | np.ndarray, *, log: bool = False
) -> tuple[float, float]:
    """Return the limits of an axis if it has a place for both, else some around the values."""
    if limits and np.isfinite(placed(limits, log=log)).all():
        return limits
    least, most = ends(values, log=log)
    return (least / 2, most * 2) if log else (min(0.0, least), (most or 1.0) * 1.05)


def amounts_axis(amounts: np.ndarray, *, log: bool) -> dict:
    """Return the range of an axis of amounts: from 0, or all that is drawn on a log scale."""
    least, most = ends(amounts, log=log)
    if log:
        return {"type": "log", "range": np.log10((least / 1.5, most * 1.5)).tolist(), "dtick": 1}
    return {"type": "linear", "range": [min(0.0, least), (most or 1.0) * 1.05], "dtick": None}


def written(value: float) -> str:
    """Return what stands at the place of a value that has none on its axis."""
    if np.isnan(value):
        return NO_NUMBER
    sign = "−" if value < 0 else ""
    return sign + (INFINITE if np.isinf(value) else f"{abs(value):.3g}")


def notes(
    traces: Sequence[Mapping], looks: Mapping[str, Look], x: Mapping, y: Mapping
) -> list[dict]:
    """Return a note where named points have no height on y, at the first of each run of them.

    It stands at the foot of the plot, or at its top for an infinity; in the points' own colour, if
    those of one name alone are there. What is no number is a gap, as where there is none.
    """
    found: dict[tuple[float, str], list[Look | None]] = {}
    for trace in traces:
        if name := trace.get("name"):
            for place in _lost(trace, x, y):
                found.setdefault(place, []).append(looks.get(name))
    return [note(x, y["range"], text, its) for (x, text), its in found.items()]


def _lost(trace: Mapping, x: Mapping, y: Mapping) -> list[tuple[float, str]]:
    """Return the place on x and what is written there, of each run of points without a height."""
    heights, log = np.asarray(trace["y"], dtype=np.float64), x.get("type") == "log"
    across = placed(trace["x"], log=log)
    lost = np.isnan(placed(heights, log=y.get("type") == "log")) & ~np.isnan(heights + across)
    texts = [written(n) if gone else "" for n, gone in zip(heights, lost, strict=True)]
    firsts = [n for n, text in enumerate(texts) if text and text not in texts[max(0, n - 1) : n]]
    places = np.log10(across) if log else across
    return [(float(places[n]), texts[n]) for n in firsts]


def note(x: float, ends: tuple[float, float], text: str, looks: Sequence[Look | None] = ()) -> dict:
    """Return what is written at a place of x over the first of the ends of y, or under the last."""
    top = text == INFINITE
    its = looks[0] if len(looks) == 1 else None
    return {
        "name": "unplaced",
        "x": x,
        "y": float(ends[top]),
        "yanchor": "top" if top else "bottom",
        "text": its.worded(f"<b>{text}</b>") if its else f"<b>{text}</b>",
        "showarrow": False,
        "font": FONT,
    }


def at_zero(columns: Sequence[Sequence[float]], *, below: bool = False) -> list[dict]:
    """Return a note at 0 of y for each place of x, counted from 0, where bars have no length.

    Args:
        columns: the lengths of each series.
        below: whether the bars point downwards.
    """
    found = []
    for x, lengths in enumerate(zip(*columns, strict=True)):
        told = dict.fromkeys(written(one) for one in lengths if not np.isfinite(one))
        if told:
            side = {"yanchor": "top" if below else "bottom"}
            found.append(note(x, (0, 0), " ".join(told)) | side)
    return found
