"""The controls of the decode page: back, play or pause, on, and what is decoded."""

import streamlit as st

from ui.engine.model import Model, present
from ui.pages.decode.text import prompts, writer, writers
from ui.pages.decode.view import room
from ui.parts import bridge, trained_layer
from ui.parts.choice import choice
from ui.parts.motion import Dial
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

SPEEDS = ("slow", "normal", "fast")
HEADS = (0, *(2**n for n in range(8)))  # to be run; 0 is as many as take a moment


def dial() -> Dial:
    """It moves the step, as far as there are tokens."""
    last = room(present())
    return Dial("dec_step", t("decode.step", of=last), range(1, last + 1))


def speed() -> None:
    """How fast the picture plays. A clicker's keys step."""
    state.control(
        st.segmented_control,
        t("decode.speed"),
        "dec_speed",
        SPEEDS,
        format_func=lambda code: t(f"decode.speed_{code}"),
        required=True,
    )
    bridge.listen("dec_keys", on_step=dial().move, moves=True)


def text() -> None:
    """What is read first: a sentence and whose words follow it, or the length of a prompt."""
    model = present()
    if model.trained is not None:
        trained_layer.sentence()
        _writer(model)
    elif len(lengths := prompts(model)) > 1:
        label = t("decode.prompt")
        state.control(st.select_slider, label, "dec_prompt", lengths, format_func=count)


def _writer(model: Model) -> None:
    by = writers(model)
    choice(
        st.segmented_control,
        t("decode.writer"),
        "variant",
        by[writer(model)],
        by.values(),
        format_func={variant: code.upper() for code, variant in by.items()}.get,
        required=True,
    )


def run_settings(most_heads: int) -> None:
    """The heads that are run."""
    chosen = state.settings()["dec_heads"]
    ladder = {n for n in HEADS if n <= most_heads} | {chosen}
    state.control(
        st.select_slider,
        t("decode.heads"),
        "dec_heads",
        sorted(ladder),
        format_func=lambda n: count(n) if n else t("decode.automatic"),
    )
