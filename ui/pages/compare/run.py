"""One head of each side of the comparison over the same tokens."""

import numpy as np
import streamlit as st

from ui.pages.compare.side import Side
from ui.pages.compare.view import View
from ui.parts.maps.run import Run, run
from ui.words.text import t


def ran(view: View, side: Side) -> Run:
    """The chosen head over the tokens that both sides get.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with st.spinner(t("compare.running")):
        return found(view, side)


def found(view: View, side: Side) -> Run:
    """Return what `ran` does, without a word of it on the page."""
    return run(side.config, side.form, view.words, side.origin, (view.head_of(side),))


def head_map(found: Run, kind: str) -> np.ndarray:
    """Attention, weights or logits [t,s] of the one head that was run, masked cells NaN."""
    values = found.logits if kind == "scores" else found.attention(True, 1.0)
    return np.where(found.mask, values[0], np.nan)


def furthest_apart(left: np.ndarray, right: np.ndarray) -> tuple[int, int]:
    """Query and key of the cell where two maps differ most."""
    row, column = np.unravel_index(np.nanargmax(np.abs(left - right)), left.shape)
    return int(row), int(column)
