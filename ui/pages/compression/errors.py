"""The errors that latents of every size make, joint and separate, and the controls of both."""

from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from ui.pages.compression.source import PORTION, WAYS, lost
from ui.pages.compression.view import ERRORS, View, own_weights
from ui.parts.control import control
from ui.words.numbers import count
from ui.words.text import t

HEIGHT = 380


@contextmanager
def factoring() -> Iterator[None]:
    """Show a line while the weights are factored, the first time: later it would move all below."""
    place, seen = st.empty(), st.session_state.setdefault("compression_seen", False)
    st.session_state.compression_seen = True
    try:
        if seen:
            yield
        else:
            with place, st.spinner(t("compression.factoring")):
                yield
    finally:
        place.empty()


def rank_control(view: View) -> None:
    """Draw the size of the latent; of a trained model one of those whose answers are known."""
    full = count(view.source.full)
    if view.sizes:
        label = t("compression.size_of", full=full)
        control("cmp_size", label=label, options=view.sizes, shown=view.rank)
    else:
        control("cmp_rank", label=t("compression.rank_of", full=full), most=view.source.full)


def weights_control(view: View) -> None:
    """Draw the choice of a spectrum, random weights, or a trained or real layer's own."""
    own = ("own",) if own_weights(view.model) else ()
    control("cmp_weights", options=(*own, "spectrum", "random"), shown=view.weights)


def curves(view: View) -> pd.DataFrame:
    """Return the errors of both ways at every rank, the chosen one among them, some at a time.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    ranks = view.fixed_ranks
    parts = [tuple(ranks[n : n + PORTION]) for n in range(0, len(ranks), PORTION)]
    wanted = [(way, part) for way in WAYS for part in [(view.rank,), *parts]]
    bar = st.progress(0.0, t("compression.running"))
    rows = {}
    try:
        for done, (way, part) in enumerate(wanted, start=1):
            found = lost(view.source, view.words, way, part)
            for rank, loss in zip(part, found, strict=True):
                errors = {error: getattr(loss, error) for error in ERRORS}
                rows[way, rank] = {"way": way, "rank": rank} | errors
            bar.progress(done / len(wanted), t("compression.running"))
    finally:
        bar.empty()
    return pd.DataFrame([rows[place] for place in sorted(rows)])
