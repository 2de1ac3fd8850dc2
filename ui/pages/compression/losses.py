"""The loss during training, a curve a variant and thin each of its seeds."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.compression import names
from ui.pages.compression.curves import HEIGHT, band, ends, variant_row
from ui.pages.compression.quality import Quality
from ui.parts import charts, prose
from ui.words.numbers import digits
from ui.words.text import t


def draw(view: Quality) -> None:
    """Draw it."""
    st.subheader(t("quality.section_loss"), anchor=False)
    prose.say(t("quality.loss_words"))
    means = {code: loss for code in view.caches if (loss := view.study.loss(code))}
    if not means:
        prose.say(t("quality.no_loss"))
        return
    label = partial(names.variant, view)
    seeds = {code: list(view.study.losses(code).values()) for code in means}
    every = [loss for curves in seeds.values() for curve in curves for loss in curve.values()]
    figure = partial(
        figures.band_lines,
        {label(code): band(loss, 1) for code, loss in means.items()},
        looks={label(code): names.its_look(code) for code in means},
        titles=(t("quality.axis_step"), t("quality.axis_loss")),
        singles={
            label(code): [(list(curve), list(curve.values())) for curve in curves]
            for code, curves in seeds.items()
        },
        limits=(min(every) / 1.1, 1.1 * max(every)),
        log=True,
        height=HEIGHT,
    )
    each = ends(view, means, lambda spread: digits(spread.mean, 2))
    charts.show(
        figure,
        "quality:loss",
        alt=t("quality.alt_loss", each=each),
        data=partial(_losses, view),
        file="mla_quality_loss.csv",
    )


def _losses(view: Quality) -> pd.DataFrame:
    """Return the loss of every seed at every step that was measured."""
    rows = [
        variant_row(view, code) | {"seed": seed, "step": step, "loss": loss}
        for code in view.caches
        for seed, curve in view.study.losses(code).items()
        for step, loss in curve.items()
    ]
    return pd.DataFrame(rows)
