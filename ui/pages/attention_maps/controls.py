"""The controls of the layer that is run, and of the tensor below its maps."""

import streamlit as st

from ui.pages.attention_maps.sentences import EXAMPLES
from ui.pages.attention_maps.view import (
    LONGER,
    View,
    at_the_answer,
    at_the_end,
    at_the_strongest,
    can_be_long,
    can_be_unmasked,
    chosen,
    is_long,
    keeps_a_state,
    nearest,
)
from ui.parts import reader
from ui.parts.control import control
from ui.parts.maps.controls import cell_controls, head_control, text_controls
from ui.settings import state
from ui.sources.model import Model, present
from ui.sources.small_model import AS_TRAINED
from ui.streamlit_internals import DeltaGenerator
from ui.words.numbers import count
from ui.words.text import t

RUN_LADDER = (0, 1, 2, 4, 8, 16, 32, 64, 128)


def run() -> None:
    """Draw the choice of the text, the layer and one of its heads, of mask and temperature."""
    model = present()
    if AS_TRAINED.reads():
        _own(model)
    elif not model.is_trained:
        text_controls(chosen(), nearest, longer=LONGER if can_be_long(model) else ())
        _variant_control(model)
        _head(model)
    else:
        _trained(model)
    if not is_long():
        _read_otherwise(model)


def _read_otherwise(model: Model) -> None:
    """Draw what neither a long text nor a state has: mask, temperature, heads to run."""
    if keeps_a_state():
        return
    control("map_temperature")
    if can_be_unmasked(model):
        control("map_causal")
    if not model.is_trained and not AS_TRAINED.reads():
        possible = [n for n in RUN_LADDER if n <= model.sizes["n_heads"]]
        control("map_run", options=possible, write=_heads_run)


def alone(view: View) -> None:
    """Draw in one row the head and the cell that a figure below the maps is of."""
    head, *cell = st.columns(3)
    with head:
        head_control()
    cell_controls(view.maps.run.words, view.maps.columns, cell)


def who_reads(below: DeltaGenerator | None = None) -> None:
    """Draw who reads, and the text of the app's own real model.

    Args:
        below: where they stand in a lecture, whose last row reads the maps, not a box.
    """
    with below if below and state.settings()["lecture"] else st.container():
        if not AS_TRAINED.reads():
            reader.choice()
            return
        who, text = st.columns([8, 13], gap="medium")
        with who:
            reader.choice()
        with text:
            reader.box(then=at_the_strongest)
        reader.buttons(EXAMPLES)


def _own(model: Model) -> None:
    """The layer and the head of the app's own real model."""
    head, layer = st.columns(2)
    with head:
        head_control()
    with layer:
        reader.layer_beside(model)


def _trained(model: Model) -> None:
    """Layer and head first, as they change the picture most; examples of each task."""
    head, layer = st.columns(2)
    with head:
        head_control()
    with layer:
        reader.layer_beside(model)
    text_controls(chosen(), at_the_end)
    reader.examples_row(then=at_the_answer)
    _variant_control(model)


def _head(model: Model) -> None:
    """The head, and the seed of weights that are drawn."""
    head, seed = st.columns(2)
    with head:
        head_control()
    if not model.checkpoint:
        with seed:
            control("seed")


def _heads_run(n: int) -> str:
    return count(n) if n else t("attention_maps.automatic")


def _variant_control(model: Model) -> None:
    control(
        "variant",
        label=t("attention_maps.variant"),
        shown=model.variant,
        options=model.variants,
        write=lambda code: t(f"common.{code}"),
    )
