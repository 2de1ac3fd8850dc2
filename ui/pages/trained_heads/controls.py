"""The widgets of the page trained_heads."""

import streamlit as st

from ui.pages.trained_heads import words
from ui.pages.trained_heads.settings import ALONE, FINISHED, TEXTS
from ui.pages.trained_heads.view import View
from ui.parts.choice import choice
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

MOST_KEYS = 8


def model(view: View) -> None:
    """Which model."""
    choice(
        st.segmented_control,
        t("trained_heads.variant"),
        "th_variant",
        view.variant,
        view.variants,
        format_func=lambda code: t(f"trained_heads.variant_{code}"),
        required=True,
    )


def others(view: View) -> None:
    """Which model stands beside it, and how far the training has come."""
    choice(
        st.segmented_control,
        t("trained_heads.beside"),
        "th_beside",
        view.beside.variant if view.beside else ALONE,
        [ALONE, *(code for code in view.variants if code != view.variant)],
        format_func=lambda code: t(f"trained_heads.variant_{code}"),
        required=True,
    )
    if len(view.steps) > 1:
        choice(
            st.select_slider,
            t("trained_heads.step"),
            "th_step",
            view.step,
            view.steps,
            format_func=lambda n: t("trained_heads.finished") if n == FINISHED else count(n),
        )


def head(view: View) -> None:
    """Which head, and on what text."""
    every = words.every(view)
    choice(
        st.selectbox,
        t("trained_heads.head"),
        "th_head",
        f"{view.layer}.{view.head}",
        list(every),
        format_func=every.get,
    )


def text() -> None:
    """The task of the example."""
    state.control(
        st.segmented_control,
        t("trained_heads.text"),
        "th_text",
        TEXTS,
        format_func=words.task,
        required=True,
    )


def cut(view: View) -> None:
    """What is taken away."""
    choice(
        st.segmented_control,
        t("trained_heads.cut"),
        "th_cut",
        view.cut.kind,
        view.cuts,
        format_func=lambda code: t(f"trained_heads.cut_{code}"),
        required=True,
    )
    if view.cut.kind == "rank":
        label = t("trained_heads.rank", most=count(view.most_rank))
        choice(st.slider, label, "th_rank", view.cut.rank, 1, view.most_rank)
    if view.cut.kind == "keys":
        choice(
            st.slider,
            t("trained_heads.keys"),
            "th_keys",
            min(view.cut.keys, MOST_KEYS),
            1,
            MOST_KEYS,
        )
