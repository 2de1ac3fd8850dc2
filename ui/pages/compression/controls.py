"""The widgets of the compression page."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import streamlit as st

from ui.pages.compression.run import ERRORS
from ui.pages.compression.view import View, all_heads, head_counts, mend, own_weights
from ui.parts.choice import choice
from ui.settings import state
from ui.words.numbers import count, shortest
from ui.words.text import t

DECAYS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


@contextmanager
def factoring() -> Iterator[None]:
    """A line while the weights are factored, the first time: later it would move all below it."""
    place, seen = st.empty(), st.session_state.setdefault("compression_seen", False)
    st.session_state.compression_seen = True
    try:
        with nullcontext() if seen else place, nullcontext() if seen else _told():
            yield
    finally:
        place.empty()


def _told() -> AbstractContextManager:
    return st.spinner(t("compression.factoring"))


def rank(view: View) -> None:
    """The size of the latent; of a trained model one of those whose answers are known."""
    full = view.source.full
    if view.sizes:
        label = t("compression.size_of", full=count(full))
        options = view.sizes
        choice(st.select_slider, label, "cmp_size", view.rank, options, format_func=count)
        return
    state.control(st.slider, t("compression.rank_of", full=count(full)), "cmp_rank", 0, full)


def layer(view: View) -> None:
    """The heads that share the latent, where the weights come from, and the errors' axis."""
    options = head_counts(view.model)
    if len(options) > 1:
        label = t("compression.heads", heads=count(all_heads(view.model)))
        state.control(st.select_slider, label, "cmp_heads", options, then=mend)
    weights(view)
    state.control(
        st.select_slider,
        t("compression.decay"),
        "cmp_decay",
        sorted({*DECAYS, view.decay}),
        format_func=shortest,
        disabled=view.weights != "spectrum",
    )
    log()


def log() -> None:
    """Whether the errors stand on a logarithmic axis."""
    state.control(st.toggle, t("compression.log"), "cmp_log")


def weights(view: View) -> None:
    """A chosen spectrum, random ones, or a trained or real layer's own weights."""
    choice(
        st.segmented_control,
        t("compression.weights"),
        "cmp_weights",
        view.weights,
        (*(("own",) if own_weights(view.model) else ()), "spectrum", "random"),
        format_func=lambda code: t(f"compression.weights_{code}"),
        required=True,
    )


def error() -> None:
    """What joint and separate compression are compared by."""
    state.control(
        st.segmented_control,
        t("compression.error_of"),
        "cmp_error",
        ERRORS,
        format_func=lambda name: t(f"compression.error_{name}"),
        required=True,
    )
