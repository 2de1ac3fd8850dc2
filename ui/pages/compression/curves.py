"""The right answers of every variant, as curves and as rows of a file."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from mla_engine import figures
from mla_engine.figures import Band
from mla_engine.language_model.study import Spread
from ui.pages.compression import names
from ui.pages.compression.quality import EVERY_LOAD, Quality
from ui.parts import charts
from ui.words.text import listed, t

HEIGHT = 420


def band(found: Mapping[float, Spread], scale: float = 100) -> Band:
    """Return spreads over their places, by default as percentages."""
    spreads = found.values()
    mean, least, most = (
        scale * np.array(side)
        for side in zip(*((one.mean, one.least, one.most) for one in spreads), strict=True)
    )
    return Band(list(found), mean, least, most)


def answers(view: Quality, code: str, load: int) -> dict[str, object]:
    """Return a row of a file: a variant's right answers at a load of the task."""
    where = {"task": view.task, "load": "all" if load == EVERY_LOAD else load}
    spread = view.accuracy_at(code, load)
    none = {"mean": None, "least": None, "most": None, "seeds": 0}
    return where | variant_row(view, code) | (vars(spread) if spread else none)


def variant_row(view: Quality, code: str) -> dict[str, object]:
    """Return the columns of a file that name a variant and its cache."""
    return {"variant": code, "cached_per_token": view.cached(code)}


def lines(
    view: Quality,
    found: Mapping[str, Mapping[int, Spread]],
    axis: str,
    ticks: Sequence[int] | None = None,
) -> charts.Drawing:
    """Draw the right answers of each variant over what `axis` names."""
    return partial(
        figures.band_lines,
        {names.variant(view, code): band(spreads) for code, spreads in found.items() if spreads},
        looks={names.variant(view, code): names.its_look(code) for code in found},
        titles=(axis, t("quality.axis_right")),
        ticks=ticks,
        height=HEIGHT,
    )


def ends(
    view: Quality,
    found: Mapping[str, Mapping[int, Spread]],
    write: Callable[[Spread], str],
) -> str:
    """List the first and the last place of each variant's curve."""
    said = []
    for code, spreads in found.items():
        if places := list(spreads.values()):
            ends = {"first": write(places[0]), "last": write(places[-1])}
            said.append(t("quality.from_to", name=names.variant(view, code), **ends))
    return listed(said)
