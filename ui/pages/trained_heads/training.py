"""The birth of the heads: the strongest induction head and the loss, step by step."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.trained_heads import run
from ui.pages.trained_heads.run import FINISHED
from ui.pages.trained_heads.view import View
from ui.parts import charts
from ui.words.numbers import count, fixed
from ui.words.text import t

CURVE = 300  # pixels high


def draw(view: View) -> None:
    """Draw both curves over the steps of the training."""
    steps = run.steps(view.variant)
    strongest = [run.induction(run.of_step(view.variant, step)) for step in steps]
    losses = run.losses(view.variant)
    at = steps[-1] if view.step == FINISHED else view.step
    lines = {"induction": (steps, strongest), "loss": (list(losses), list(losses.values()))}
    places = st.columns(2, gap="large")
    for place, (name, (x, y)) in zip(places, lines.items(), strict=True):
        if x:
            with place:
                _curve(name, x, np.array(y), at)


def _curve(name: str, x: list[int], y: np.ndarray, at: int) -> None:
    titles = t("trained_heads.axis_step"), t(f"trained_heads.axis_{name}")
    line = {t(f"trained_heads.line_{name}"): y}
    fig = partial(figures.curves, x, line, titles=titles, at=at, height=CURVE)
    ends = {"first": fixed(float(y[0]), 2), "last": fixed(float(y[-1]), 2)}
    alt = t(f"trained_heads.alt_{name}", steps=count(x[-1]), **ends)
    frame = pd.DataFrame({"step": x, name: y})
    about = {"data": lambda: frame, "file": f"trained_heads_{name}.csv", "follows": "th_step"}
    charts.show(fig, f"trained_heads:{name}", alt=alt, **about)
