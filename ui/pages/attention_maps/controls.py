"""The controls of the layer that is run, and of the tensor below its maps."""

import streamlit as st

from ui.engine.model import Model, present
from ui.pages.attention_maps.long import view as long
from ui.pages.attention_maps.view import (
    View,
    at_the_answer,
    at_the_end,
    can_be_unmasked,
    keeps_a_state,
    mend,
)
from ui.parts import sentences, trained_layer
from ui.parts.choice import choice
from ui.parts.maps.controls import head_control, text_controls
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

RUN_LADDER = (0, 1, 2, 4, 8, 16, 32, 64, 128)
TEMPERATURES = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)


def run() -> None:
    """What is run: the text, the layer, one of its heads; mask and temperature."""
    model = present()
    if model.trained is None:
        text_controls(then=mend, longer=long.LADDER if long.can_be(model) else ())
        _variant(model)
        _head(model)
    else:
        _trained(model)
    if not long.asked():
        _read_otherwise(model)


def _read_otherwise(model: Model) -> None:
    """What a long text has no choice of: mask, temperature, how many heads; a state of none."""
    if keeps_a_state():
        return
    _temperature()
    if can_be_unmasked(model):
        state.control(st.toggle, t("attention_maps.causal"), "map_causal")
    if model.trained is None:
        _heads_to_run(model)


def _trained(model: Model) -> None:
    """Layer and head first, as they change the picture most; examples of each task."""
    head, layer = st.columns(2)
    with head:
        head_control()
    with layer:
        trained_layer.layer_beside()
    text_controls(then=at_the_end)
    sentences.row(then=at_the_answer)
    _variant(model)


def _head(model: Model) -> None:
    """The head, and the seed of weights that are drawn."""
    head, seed = st.columns(2)
    with head:
        head_control()
    if not model.layer:
        with seed:
            state.control(st.number_input, t("attention_maps.seed"), "seed", 0, 9999)


def _variant(model: Model) -> None:
    choice(
        st.selectbox,
        t("attention_maps.variant"),
        "variant",
        model.variant,
        model.variants,
        format_func=lambda code: t(f"common.{code}"),
    )


def _temperature() -> None:
    state.control(
        st.select_slider,
        t("attention_maps.temperature"),
        "map_temperature",
        sorted({*TEMPERATURES, state.settings()["map_temperature"]}),
        format_func=lambda value: f"{value:g}",
    )


def _heads_to_run(model: Model) -> None:
    possible = {n for n in RUN_LADDER if n <= model.sizes["n_heads"]}
    state.control(
        st.select_slider,
        t("attention_maps.run_heads"),
        "map_run",
        sorted(possible | {state.settings()["map_run"]}),
        format_func=lambda n: count(n) if n else t("attention_maps.automatic"),
    )


def tensor(view: View) -> None:
    """Any tensor or weight of the run; one that this layer has not is named."""
    choice(
        st.selectbox,
        t("attention_maps.tensor"),
        "map_tensor",
        view.tensor,
        view.tensors,
        format_func=lambda code: f"{code} · {t(f'symbols.{code}')}",
    )
    if view.missing:
        st.caption(t("attention_maps.no_such_tensor", wanted=view.missing, shown=view.tensor))
