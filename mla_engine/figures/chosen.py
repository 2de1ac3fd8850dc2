"""A chart of chosen keys: above, what was found of each; below, what it would have been given."""

from collections.abc import Mapping, Sequence

import numpy as np

from mla_engine.figures.axes import MAX_LABEL_LENGTH, PHONE_PIXELS, safe, wide
from mla_engine.figures.figure import Figure, figure, titled
from mla_engine.figures.looks import faded, look
from mla_engine.figures.placed import at_zero, ends
from mla_engine.figures.theme import FONT, MASKED, legend_above, shaded

HEIGHT = 380
ROLES = (0, 3)
TICKS = 2  # of each half of the axis, beside 0
ENDS = 20, 40, 60, 80, 100  # per cent
HATCH = "/"  # of what is not read: colour alone would say too little


def chosen_keys(
    keys: Sequence[str],
    halves: Mapping[str, np.ndarray],
    chosen: np.ndarray,
    *,
    titles: tuple[str, str],
    said: tuple[str, str],
    height: int = HEIGHT,
) -> Figure:
    """Draw upright bars [keys] of two names, the first upwards and the second downwards.

    Args:
        keys: the words, in Plotly's text once they are shortened here.
        halves: name -> per cent [keys], two of them; both halves have one scale.
        chosen: bool [keys], where a key is read: its word is bold and its column shaded; the bars
            of all others fade and are hatched.
        titles: of the axes.
        said: what the hover says of a key that is read, and of one that is not.
        height: pixels.
    """
    words = [safe(key, MAX_LABEL_LENGTH) for key in keys]
    told = [(word, said[not read], bool(read)) for word, read in zip(words, chosen, strict=True)]
    colours = {name: look(role).colour for name, role in zip(halves, ROLES, strict=True)}
    traces = [
        _half(name, sign * np.asarray(shares, dtype=np.float64), colours[name], told)
        for (name, shares), sign in zip(halves.items(), (1, -1), strict=True)
    ]
    up, down = halves.values()
    return figure(
        [*traces, *(_entry(name, colour) for name, colour in colours.items())],
        height=height,
        x=titled(titles[0]) | _names(told),
        y=titled(titles[1]) | _both_ways(ends(list(halves.values()))[1]),
        annotations=[*at_zero([up]), *at_zero([down], below=True)],
        shapes=[shaded(at - 0.5, at + 0.5, 0.2) for at, (*_, read) in enumerate(told) if read],
        barmode="overlay",
        bargap=0.25,
        **legend_above(shown=True),
    )


def _half(
    name: str, heights: np.ndarray, colour: str, told: Sequence[tuple[str, str, bool]]
) -> dict:
    """Return the bars of one half; `told` has each key's word, what is said of it, if it is read.

    The hover has the length of a bar that points downwards without its sign.
    """
    lengths = np.abs(heights).tolist()
    return {
        "type": "bar",
        "name": name,
        "showlegend": False,
        "x": list(range(len(told))),
        "y": heights,
        "customdata": [(*key[:2], length) for key, length in zip(told, lengths, strict=True)],
        "marker": {
            "color": [colour if read else faded(colour) for *_, read in told],
            "pattern": {
                "shape": ["" if read else HATCH for *_, read in told],
                "solidity": 0.25,
                "fillmode": "overlay",
            },
        },
        "hovertemplate": f"%{{customdata[0]}}<br>%{{customdata[1]}}<br>{name} "
        "%{customdata[2]:.3g} %<extra></extra>",
    }


def _entry(name: str, colour: str) -> dict:
    """Return an entry of the legend: a bar's own would look like the first one, read or not."""
    return {"type": "bar", "name": name, "x": [None], "y": [None], "marker": {"color": colour}}


def _names(told: Sequence[tuple[str, str, bool]]) -> dict:
    """Return the axis of the words, those that are read in bold."""
    texts = [f"<b>{word}</b>" if read else word for word, _, read in told]
    upright = wide([word for word, *_ in told], PHONE_PIXELS)
    ticks = {"tickvals": list(range(len(told))), "ticktext": texts}
    ticks["tickangle"] = 90 if upright else 0
    fixed = {"range": [-0.6, len(told) - 0.4], "fixedrange": True, "automargin": True}
    return ticks | fixed | {"showgrid": False, "tickfont": FONT}


def _both_ways(most: float) -> dict:
    """Return an axis that counts both ways from 0, to one of few ends, so it seldom changes."""
    top = next((end for end in ENDS if most <= end), ENDS[-1])
    places = [top * part / TICKS for part in range(-TICKS, TICKS + 1)]
    ticks = {"tickvals": places, "ticktext": [f"{abs(place):g}" for place in places]}
    line = {"zeroline": True, "zerolinecolor": MASKED, "zerolinewidth": 2}
    return {"range": [-top, top], "fixedrange": True} | ticks | line
