"""One head of each side of the comparison over the same tokens."""

import numpy as np
import streamlit as st

from ui.engine import real_layer as source
from ui.pages.compare.view import Side
from ui.parts.maps import view as maps
from ui.parts.maps.run import Run, run
from ui.settings import state
from ui.words.text import t


def head_of(one: Side) -> int:
    """The chosen head, or the side's last."""
    return min(state.settings()["vs_head"], one.config.n_heads - 1)


def ran(one: Side) -> Run:
    """The chosen head over the tokens that both sides get.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with st.spinner(t("compare.running")):
        return run(one.config, one.form, maps.words(), one.origin, (head_of(one),))


def head_map(found: Run, kind: str) -> np.ndarray:
    """Attention or logits [t,s] of the one head that was run, masked cells nan."""
    values = found.attention(True, 1.0) if kind == "attention" else found.logits
    return np.where(found.mask, values[0], np.nan)


def furthest_apart(left: np.ndarray, right: np.ndarray) -> tuple[int, int]:
    """Query and key of the cell where two maps differ most."""
    row, column = np.unravel_index(np.nanargmax(np.abs(left - right)), left.shape)
    return int(row), int(column)


def weights(a: Side, b: Side) -> str:
    """Whose weights the maps are of, and what happens to a head that one side has not."""
    real = [one.shown_name for one in (a, b) if not isinstance(one.origin, int)]
    if not real:
        return t("compare.random")
    drawn = [one.letter for one in (a, b) if isinstance(one.origin, int)]
    named = source.name(source.chosen())
    if not drawn:
        return t("compare.both_real", name=named)
    return t("compare.one_real", real=real[0], name=named, drawn=drawn[0])
