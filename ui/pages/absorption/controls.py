"""The widgets of the absorption page."""

import streamlit as st

from mla_engine.studies.bracketing import SIDES
from ui.engine.model import present
from ui.pages.absorption.run import FORMATS, MATRICES
from ui.pages.absorption.view import View
from ui.parts import trained_layer
from ui.settings import state
from ui.words.numbers import count, shortest
from ui.words.text import safe, t

QUERIES = tuple(2**n for n in range(13))
CONTEXTS = tuple(2**n for n in range(4, 21))
GAINS = (0.25, 0.5, 1.0, 2.0, 4.0)


def product() -> None:
    """What is multiplied."""
    state.control(
        st.segmented_control,
        t("absorption.side"),
        "ab_side",
        SIDES,
        format_func=lambda side: t(f"absorption.side_{side}"),
        required=True,
    )


def lengths() -> None:
    """How many tokens are new, and how many are in the cache."""
    for name, steps in (("queries", QUERIES), ("context", CONTEXTS)):
        label = t(f"absorption.{name}")
        state.control(st.select_slider, label, f"ab_{name}", steps, format_func=count)


def sentence() -> None:
    """What a trained model reads, whose layer is run below."""
    if present().trained is not None:
        trained_layer.sentence()


def matrix(view: View) -> None:
    """The merged matrix and its head."""
    state.control(
        st.segmented_control,
        t("absorption.matrix"),
        "ab_matrix",
        MATRICES,
        format_func=lambda code: t(f"absorption.matrix_{code}"),
        required=True,
    )
    last = view.config.n_heads - 1
    state.control(st.number_input, t("absorption.head", last=count(last)), "ab_head", 0, last)


def number_format() -> None:
    """The format whose rounding is shown."""
    label = t("absorption.type")
    state.control(st.segmented_control, label, "ab_type", FORMATS, required=True)


def gain(view: View) -> None:
    """How long the last word's h is made."""
    state.control(
        st.select_slider,
        t("absorption.gain", word=safe(view.words[-1])),
        "ab_gain",
        sorted({*GAINS, view.gain}),
        format_func=lambda times: f"{shortest(times)}×",
    )
