"""The widgets of the page planner: which model, on which GPUs, with how many tokens."""

from collections.abc import Callable, Sequence

import streamlit as st

from mla_engine.devices import GPUS
from mla_engine.model_caches import MODELS
from ui.pages.planner.settings import (
    KV_TYPES,
    MOST_BILLIONS,
    MOST_GIB,
    NONE,
    RANKS,
    SIZED,
    WEIGHTS,
)
from ui.pages.planner.view import PASTED
from ui.parts import counted_model
from ui.parts.growth import LENGTHS
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t


def draw() -> None:
    """What everybody chooses."""
    _box("model", list(MODELS), _name)
    _box("gpu", list(GPUS), lambda key: GPUS[key].name)
    tensor, data = st.columns(2, vertical_alignment="bottom")
    with tensor:
        _slider("tensor", RANKS)
    with data:
        _slider("data", RANKS)
    _slider("context", LENGTHS)
    with st.container(horizontal=True):
        _types("weights", list(WEIGHTS))
        _types("kv", list(KV_TYPES))


def more(*, opened: bool) -> None:
    """What some choose: another model, a model of their own, what is not in its config.json."""
    with st.expander(t("planner.more"), expanded=opened):
        _box("beside", [NONE, *SIZED], _name)
        counted_model.ask("plan_own", PASTED)
        total, active, overhead = st.columns(3, vertical_alignment="bottom")
        with total:
            _number("parameters", MOST_BILLIONS)
        with active:
            _number("active", MOST_BILLIONS)
        with overhead:
            _number("overhead", MOST_GIB)


def _name(key: str) -> str:
    return t("planner.no_other") if key == NONE else MODELS[key].name


def _box(name: str, keys: Sequence[str], say: Callable[[str], str]) -> None:
    state.control(st.selectbox, t(f"planner.{name}"), f"plan_{name}", keys, format_func=say)


def _slider(name: str, values: Sequence[int]) -> None:
    help = t(f"planner.{name}_help")
    state.control(
        st.select_slider, t(f"planner.{name}"), f"plan_{name}", values, format_func=count, help=help
    )


def _types(name: str, codes: Sequence[str]) -> None:
    state.control(
        st.segmented_control,
        t(f"planner.{name}"),
        f"plan_{name}",
        codes,
        format_func=lambda code: t(f"planner.type_{code}"),
        required=True,
    )


def _number(name: str, most: float) -> None:
    help = t(f"planner.{name}_help")
    state.control(
        st.number_input, t(f"planner.{name}"), f"plan_{name}", 0.0, float(most), help=help
    )
