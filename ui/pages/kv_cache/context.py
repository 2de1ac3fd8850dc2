"""The cache page's first view: bytes over the context length, every way of caching on one chart."""

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache import words as kv_words
from ui.pages.kv_cache.view import Scene
from ui.parts.figure_words import growth_words
from ui.settings import state


def title(scene: Scene) -> str:
    """The model's cache, that of MHA with its heads, and their ratio."""
    return kv_words.headline(scene)


def look() -> str:
    """What to look at, by the kind of axes."""
    return kv_words.look()


def ends(
    curves: Callable[[Scene], Iterable[np.ndarray]], *, log: bool, least_top: float = 0
) -> tuple[float, float]:
    """Ends of the y axis with room below and above the curves of both models.

    A model whose curves are refused is left out; `least_top` is the least upper end.
    """
    drawn = []
    for scene in kv.scenes():
        with suppress(ValueError):
            drawn.extend(curves(scene))
    low = min(curve.min() for curve in drawn)
    high = max(least_top, *(curve.max() for curve in drawn))
    return (low / 2, high * 2) if log else (0, high * 1.05)


def draw(scene: Scene, name: str) -> None:
    """One model's chart, its table, and what they leave out."""
    chosen, contexts = state.settings(), kv.contexts()
    figure = figures.cache_growth(
        contexts,
        scene.curves(contexts),
        points=scene.points(),
        log=chosen["kv_log"],
        unit=chosen["kv_unit"],
        limits=kv.limits(),
        at=chosen["kv_context"],
        words=growth_words(),
    )
    st.plotly_chart(figure, width="stretch", key=f"{name}:chart", alt=kv_words.alt(scene))
    st.table(kv_words.table(scene))
    st.markdown(kv_words.product(scene))
    st.markdown(kv_words.baseline(scene))
    for sentence in kv_words.limitations(scene):
        st.markdown(sentence)


def download(scenes: tuple[Scene, ...], _: dict[str, object]) -> pd.DataFrame:
    """Every curve as a table."""
    return kv.download(scenes)
