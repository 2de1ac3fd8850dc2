"""Right answers over cache, load and distance, and the loss of training, a curve a variant."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from kvcount.lazy import LazyModule
from mla_engine import figures
from mla_engine.figures import Band
from mla_engine.language_model.study import Spread
from mla_engine.language_model.texts import TASKS
from ui.pages.quality import names
from ui.pages.quality.view import EVERY_LOAD, View, loads
from ui.parts import charts, prose
from ui.words.numbers import count, digits
from ui.words.text import listed, t

pd = LazyModule("pandas")

PICTURE, BELOW = 440, 420
CHART = "quality:cache"


def band(found: Mapping[float, Spread], scale: float = 100) -> Band:
    """Return spreads over their places, by default as percentages."""
    spreads = found.values()
    mean, least, most = (
        scale * np.array(side)
        for side in zip(*((one.mean, one.least, one.most) for one in spreads), strict=True)
    )
    return Band(list(found), mean, least, most)


def answers(view: View, code: str, load: int) -> dict[str, object]:
    """Return a row of a file: a variant's right answers at a load of the task."""
    where = {"task": view.chosen.task, "load": "all" if load == EVERY_LOAD else load}
    spread = view.accuracy_at(code, load)
    none = {"mean": None, "least": None, "most": None, "seeds": 0}
    return where | _variant(view, code) | (vars(spread) if spread else none)


def _variant(view: View, code: str) -> dict[str, object]:
    return {"variant": code, "cached_per_token": view.cached(code)}


def by_cache(view: View) -> None:
    """Draw right answers over what is cached: a mark a variant, a bar from seed to seed."""
    kinds = {kind: [c for c in view.caches if names.family(c) == kind] for kind in names.FAMILIES}
    kinds = {kind: codes for kind, codes in kinds.items() if codes}
    bands = {
        kind: band({view.cached(code): view.accuracy(code) for code in codes})
        for kind, codes in kinds.items()
    }
    task = view.one_task  # a blind guess gets something else right in each
    figure = partial(
        figures.band_marks,
        bands,
        looks={kind: names.its_look(kind.lower()) for kind in kinds},
        titles=(t("quality.axis_cache"), t("quality.axis_seeds")),
        least=0 if task else _begin(bands),
        level=task and (t("quality.guessing"), 100 * TASKS[task].guess),
        height=PICTURE,
    )
    charts.show(
        figure,
        CHART,
        alt=t("quality.alt_cache", each=names.each(view, view.caches)),
        data=lambda: pd.DataFrame([answers(view, c, view.chosen.load) for c in view.caches]),
        file="mla_quality_cache.csv",
    )


def _begin(bands: Mapping[str, Band]) -> int:
    """Return 50 where every seed is above it: from 0 on, all would be one flat line."""
    return 50 if min(band.least.min() for band in bands.values()) > 50 else 0


def by_load(view: View) -> None:
    """Draw right answers over the load, a line a variant."""
    every = loads(view.chosen.task)
    found = {code: {load: view.accuracy_at(code, load) for load in every} for code in view.caches}
    axis = t(f"quality.load_{view.chosen.task}")
    charts.show(
        _lines(view, found, axis, ticks=every),
        "quality:load",
        alt=t(
            "quality.alt_load",
            each=_ends(view, found, names.share),
            first=count(every[0]),
            last=count(every[-1]),
        ),
        data=lambda: pd.DataFrame([answers(view, c, load) for c in view.caches for load in every]),
        file="mla_quality_load.csv",
    )


def by_distance(view: View) -> None:
    """Draw recall over how far back the pair stood, all loads together."""
    found = {code: view.study.by_distance(code) for code in view.caches}
    rows = [
        _variant(view, code) | {"distance_from": first} | vars(spread)
        for code, spreads in found.items()
        for first, spread in spreads.items()
    ]
    charts.show(
        _lines(view, found, t("quality.axis_distance")),
        "quality:distance",
        alt=t("quality.alt_distance", each=_ends(view, found, names.share)),
        data=partial(pd.DataFrame, rows),
        file="mla_quality_distance.csv",
    )


def _lines(
    view: View,
    found: Mapping[str, Mapping[int, Spread]],
    axis: str,
    ticks: Sequence[int] | None = None,
) -> charts.Drawing:
    return partial(
        figures.band_lines,
        {names.variant(view, code): band(spreads) for code, spreads in found.items() if spreads},
        looks={names.variant(view, code): names.its_look(code) for code in found},
        titles=(axis, t("quality.axis_right")),
        ticks=ticks,
        height=BELOW,
    )


def losses(view: View) -> None:
    """Draw the loss during training: the mean of a variant, and thin each of its seeds."""
    means = {code: loss for code in view.caches if (loss := view.study.loss(code))}
    if not means:
        prose.say(t("quality.no_loss"))
        return
    label = partial(names.variant, view)
    each = {code: list(view.study.losses(code).values()) for code in means}
    every = [loss for curves in each.values() for curve in curves for loss in curve.values()]
    figure = partial(
        figures.band_lines,
        {label(code): band(loss, 1) for code, loss in means.items()},
        looks={label(code): names.its_look(code) for code in means},
        titles=(t("quality.axis_step"), t("quality.axis_loss")),
        singles={
            label(code): [(list(curve), list(curve.values())) for curve in curves]
            for code, curves in each.items()
        },
        limits=(min(every) / 1.1, 1.1 * max(every)),
        log=True,
        height=BELOW,
    )
    ends = _ends(view, means, lambda spread: digits(spread.mean, 2))
    charts.show(
        figure,
        "quality:loss",
        alt=t("quality.alt_loss", each=ends),
        data=partial(_losses, view),
        file="mla_quality_loss.csv",
    )


def _losses(view: View) -> "pd.DataFrame":
    """Return the loss of every seed at every step that was measured."""
    rows = [
        _variant(view, code) | {"seed": seed, "step": step, "loss": loss}
        for code in view.caches
        for seed, curve in view.study.losses(code).items()
        for step, loss in curve.items()
    ]
    return pd.DataFrame(rows)


def _ends(
    view: View,
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
