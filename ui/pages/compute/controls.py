"""The controls of the compute page."""

import streamlit as st

from mla_engine.costs import GPUS
from ui.pages.compute.view import THIS
from ui.parts import typed
from ui.settings import state
from ui.settings.sizes import longest
from ui.words.numbers import count
from ui.words.text import t

SLIDERS = {
    "context": tuple(2**n for n in range(7, 21)),
    "queries": tuple(2**n for n in range(11)),
    "batch": tuple(2**n for n in range(11)),
}


def draw() -> None:
    """Phase, device, sizes of the call, one layer or all of them."""
    with st.container(horizontal=True, gap="medium"):  # one below the other where it is narrow
        state.control(
            st.segmented_control,
            t("compute.phase"),
            "cost_phase",
            ["decode", "prefill"],
            format_func=lambda code: t(f"compute.phase_{code}"),
            required=True,
        )
        state.control(
            st.segmented_control,
            t("compute.scope"),
            "cost_scope",
            ["layer", "model"],
            format_func=lambda code: t(f"compute.scope_{code}"),
            required=True,
        )
    whole = state.settings()["cost_scope"] == "model"
    typed.number(t("compute.layers"), "cost_layers", disabled=not whole)
    state.control(
        st.selectbox,
        t("compute.gpu"),
        "cost_gpu",
        [*GPUS, THIS],
        format_func=lambda key: t("compute.this_machine") if key == THIS else GPUS[key].name,
    )
    _of_the_call()


def _of_the_call() -> None:
    """How long the context is, how many queries and sequences come together."""
    most = longest(state.settings()["preset"])
    decoding = state.settings()["cost_phase"] == "decode"
    for name, steps in SLIDERS.items():
        state.control(
            st.select_slider,
            t(f"compute.{name}"),
            f"cost_{name}",
            [n for n in steps if name != "context" or n <= most],
            format_func=count,
            disabled=name == "queries" and not decoding,
        )
