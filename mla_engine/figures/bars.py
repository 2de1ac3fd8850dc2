"""Bars: a few named amounts beside each other, stacked from their parts or in groups."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kvcount.refusals import RefusedError
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import Role, faded, look
from mla_engine.figures.placed import ends, placed, written
from mla_engine.figures.theme import FONT, MASKED, TRANSPARENT, legend_above, upright

# Colour is never the only sign: each part has a pattern of its own.
PATTERNS = ("", "/", ".", "x")
ROLES = (0, 1, 2, 3)
THOUSAND = 1000
HEIGHT = 260
NARROW, LETTER = 320, 8  # pixels: what the narrowest chart has for names, bars and texts; a letter
BEYOND, ROOM = 1.05, 1.35  # of the longest bar: the axis, and where a short text stands behind it
EMPTY = "empty"  # the pattern of what there is room for
EMPTY_BAR = {"color": TRANSPARENT, "line": {"color": MASKED, "width": 2}}
Sign = Role | tuple[Role, str]
"""A role picks a part's colour; a pattern beside it replaces the one of its place."""


def bars(
    names: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    axis: str = "",
    stacked: bool = True,
    alone: bool = False,
    log: bool = False,
    chosen: int | None = None,
    roles: Sequence[Sign] = ROLES,
    totals: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    ticks: str = "",
    legend: bool | None = None,
    entries: int | None = None,
    at: float | None = None,
    height: int = HEIGHT,
) -> Figure:
    """Draw lying bars, a row a name; an amount without a place is written where its bar begins.

    Args:
        names: of the rows, in Plotly's text.
        parts: name of a part -> its amount in each row.
        axis: title of the axis of amounts.
        stacked: parts end to end, on a linear axis; else side by side.
        alone: each row has one part, as thick as the row, and NaN in the others.
        log: logarithmic axis.
        chosen: the row to stress; the others fade.
        roles: what picks the colour of each part, or this and its pattern, as Plotly's or EMPTY.
        totals: a text at the end of each row; longer bars leave room for it.
        limits: ends of the axis, which goes on where a text behind a bar needs the room.
        ticks: how the axis writes its numbers, as d3 says it, where not 2k, on a log axis 2e+3.
        legend: whether it is shown, by default where there are several parts.
        entries: pixels of each of its entries, which then stand in columns.
        at: an amount to mark by an upright line.
        height: pixels.
    """
    if stacked and log:  # their lengths would mean nothing
        raise RefusedError("stacked_log")
    amounts = np.asarray(list(parts.values()), dtype=np.float64)
    drawn, given = placed(amounts, log=log), _given(limits, log=log)
    span = given or _span(drawn, stacked=stacked, log=log)
    traces = _traces(names, parts, roles, chosen, axis, span[0] if log else 0)
    missing = _missing(drawn, totals, alone=alone)
    if stacked:
        totals = _told(parts, amounts, missing, totals)
    else:
        traces = list(map(_written, traces, amounts, missing))
    reached = np.nan_to_num(_reached(drawn, stacked=stacked), nan=span[0])
    traces += [totals_at_ends(reached, totals)] if totals else []
    if not log:
        span = span[0], _room(names, totals, reached, span[1], bounded=bool(given))
    if not log and not ticks and span[1] < THOUSAND:
        ticks = ",~g"  # with a prefix a half would be 500m
    across = _amount_axis(axis, np.log10(span).tolist() if log else span, ticks, log=log)
    if totals and not log:  # the bars say their amounts themselves
        across |= {"nticks": 4, "tickangle": 0}
    return figure(
        traces,
        height=height,
        x=across,
        y=named_rows(names),
        barmode="overlay" if alone else "stack" if stacked else "group",
        bargap=0.3,
        shapes=upright(at, layer="above"),
        **legend_above(shown=len(parts) > 1 if legend is None else legend, entry_width=entries),
    )


def _given(limits: tuple[float, float] | None, *, log: bool) -> tuple[float, float] | None:
    """Return the ends that are asked for, where an axis can have them."""
    return limits if limits and np.isfinite(placed(limits, log=log)).all() else None


def _reached(drawn: np.ndarray, *, stacked: bool) -> np.ndarray:
    return np.nansum(drawn, 0) if stacked else np.fmax.reduce(drawn)


def _room(
    names: Sequence[str],
    totals: Sequence[str] | None,
    reached: np.ndarray,
    last: float,
    *,
    bounded: bool,
) -> float:
    """Return the end of a linear axis, with room for the texts behind the bars."""
    if not totals:
        return last if bounded else last * BEYOND
    return max(last if bounded else last * ROOM, _needed(names, totals, reached))


def _missing(drawn: np.ndarray, totals: Sequence[str] | None, *, alone: bool) -> np.ndarray:
    """Return which amounts have no place and are written; a row of none has its total alone."""
    missing = np.isnan(drawn) & (not alone)
    return missing & ~missing.all(0) if totals else missing


def ratio_bars(
    part: str,
    ratios: Mapping[str, float],
    totals: Sequence[str],
    *,
    axis: str = "",
    height: int = HEIGHT,
) -> Figure:
    """Draw lying bars from 1 to either side of a log axis: how many times too little, or too much.

    Args:
        part: what the ratios are.
        ratios: name of a row -> above 0.
        totals: a text to the right of each bar.
        axis: title of the ratios.
        height: pixels.
    """
    names, found = list(ratios), placed(list(ratios.values()), log=True)
    (bar,) = _traces(names, {part: found - 1}, ROLES[:1], None, "")
    traces = [bar | {"base": 1}, totals_at_ends(np.fmax(found, 1), totals)]
    least, most = ends(found)
    decades = _amount_axis(axis, np.log10((least / 1.5, most * 20)).tolist(), "~g", log=True)
    axes = {"x": decades, "y": named_rows(names)}
    return figure(traces, height=height, bargap=0.3, **axes, **legend_above(shown=False))


def _traces(
    names: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    roles: Sequence[Sign],
    chosen: int | None,
    axis: str,
    base: float = 0,
) -> list[dict]:
    """Return a series a part; bars begin at `base`, as a log axis has no 0."""
    signs = [(look(role).colour, pattern) for role, pattern in _signs(roles)]
    return [
        {
            "type": "bar",
            "y": list(range(len(names))),
            "x": placed(amounts) - base,
            "name": part,
            "orientation": "h",
            "marker": EMPTY_BAR
            if pattern == EMPTY
            else {
                "color": colour
                if chosen is None
                else [colour if row == chosen else faded(colour) for row in range(len(names))],
                "pattern": {"shape": pattern, "solidity": 0.25, "fillmode": "overlay"},
            },
            "customdata": list(names),
            "hovertemplate": f"%{{customdata}}<br>{part}<br>%{{x:,.4g}} {axis}<extra></extra>",
        }
        | ({"base": base} if base else {})  # with a base of its own a bar is not stacked
        for (part, amounts), (colour, pattern) in zip(parts.items(), signs, strict=False)
    ]


def _written(bar: dict, amounts: np.ndarray, missing: np.ndarray) -> dict:
    """Return a series with what is missing written where its bars would begin."""
    if not missing.any():
        return bar
    texts = [f" {written(n)}" if gone else "" for n, gone in zip(amounts, missing, strict=True)]
    hover = [
        f"%{{customdata}}<br>{bar['name']}<br>{text.strip()}<extra></extra>"
        if text
        else bar["hovertemplate"]
        for text in texts
    ]
    shown = {"text": texts, "textposition": "outside", "textfont": FONT, "cliponaxis": False}
    shown["constraintext"] = "none"  # else as small as a bar is thick
    return bar | shown | {"x": np.where(missing, 0, bar["x"]), "hovertemplate": hover}


def _told(
    parts: Iterable[str], amounts: np.ndarray, missing: np.ndarray, totals: Sequence[str] | None
) -> Sequence[str] | None:
    """Return the texts behind stacked bars, with the parts that have no length."""
    if not missing.any():
        return totals
    rows = []
    for row, total in enumerate(totals or [""] * missing.shape[1]):
        each = zip(parts, amounts[:, row], missing[:, row], strict=True)
        lost = [f"{part}: {written(amount)}" for part, amount, gone in each if gone]
        rows.append(" · ".join(filter(None, [total, *lost])))
    return rows


def _signs(roles: Sequence[Sign]) -> list[tuple[Role, str]]:
    """Return each role with its own pattern, or with that of its place."""
    return [
        role if isinstance(role, tuple) else (role, PATTERNS[place % len(PATTERNS)])
        for place, role in enumerate(roles)
    ]


def _amount_axis(axis: str, span: Sequence[float], ticks: str, *, log: bool) -> dict:
    return titled(axis) | {
        "type": "log" if log else "linear",
        "range": span,
        "fixedrange": True,
        "nticks": 6,
        "tickformat": ticks or (".0e" if log else "~s"),
        "dtick": 1 if log and ticks else None,  # only decades
        "gridcolor": MASKED,
    }


def named_rows(names: Sequence[str]) -> dict:
    """Return the axis beside lying bars with their names, read from the top."""
    rows = {"tickvals": list(range(len(names))), "ticktext": list(names)}
    return rows | {"range": [len(names) - 0.5, -0.5], "fixedrange": True, "showgrid": False}


def _span(drawn: np.ndarray, *, stacked: bool, log: bool) -> tuple[float, float]:
    """Return what the axis spans by itself: from 0 to the longest bar, on a log axis a bit more."""
    least, most = ends(np.nansum(drawn, 0) if stacked else drawn)
    return (least / 3, most * 3) if log else (0, most or 1.0)


def _needed(names: Sequence[str], totals: Sequence[str], reached: np.ndarray) -> float:
    """Return how far an axis goes from 0 so that the narrowest chart cuts no text behind a bar."""
    room = NARROW - LETTER * max(map(_letters, names))
    left = [max(room - LETTER * _letters(total), room / 3) for total in totals]
    return float((reached * room / left).max())


def _letters(text: str) -> int:
    """Count the letters of a text's longest line; a Chinese one is as wide as two."""
    lines = re.split("<br>", re.sub("<(?!br>).*?>", "", text))
    return max(sum(1 + (letter > "\u2e80") for letter in line) for line in lines)


def totals_at_ends(ends: Sequence[float], totals: Sequence[str]) -> dict:
    """Return a text behind the end of each lying bar."""
    return {
        "type": "scatter",
        "x": list(ends),
        "y": list(range(len(totals))),
        "mode": "text",
        "text": [f" {total}" for total in totals],
        "textposition": "middle right",
        "textfont": FONT,
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }
