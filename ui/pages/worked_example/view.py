"""The worked example's stepper: which step and which cell of its result are shown."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import Step, fading
from ui.engine import example
from ui.settings import state
from ui.settings.page import Note


@dataclass(frozen=True)
class View:
    """What the settings choose: a variant's steps, one of them, one cell of its result.

    Args:
        variant: of the example, as the engine names it.
        inputs: the reader's own matrices, as texts.
        steps: all steps of the variant, with these matrices.
        place: of the step that is shown.
        chosen: row and column of a cell of its result.
        compares: whether the source's figures stand beside the computed ones.
        stage: how much is asked of the reader, one of `fading.STAGES`.
        open: whether the step that is shown is asked, and not answered yet.
        language: of the reader.
    """

    variant: str
    inputs: Mapping[str, str]
    steps: tuple[Step, ...]
    place: int
    chosen: tuple[int, int]
    compares: bool
    stage: str
    open: bool
    language: str

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self.steps[self.place]

    @property
    def is_completed(self) -> bool:
        """Whether the second token and what else the source lacks is there."""
        return self.variant.endswith("_completed")

    @property
    def changed(self) -> frozenset[str]:
        """The matrices that hold numbers of the reader's."""
        return frozenset(name.removesuffix("_added") for name in self.inputs)

    @property
    def verdict(self) -> str:
        """Whether the chosen cell's printed figure follows, differs or is not to be had."""
        figure = self.step.printed(*self.chosen)
        if figure is None:
            return "nothing"
        if self.step.follows(*self.chosen):
            return "follows"
        return "unknown" if self.step.difference(*self.chosen) is None else "differs"


def view() -> View:
    """The view of the mended settings."""
    s, variant = state.settings(), _variant()
    names = worked_example.INPUTS[variant]
    inputs = {name: str(s[f"we_{name}"]) for name in names if s[f"we_{name}"]}
    chosen = (s["we_row"] - 1, s["we_column"] - 1)
    steps = example.steps(variant, **inputs)
    place, stage = s["we_step"] - 1, s["we_fade"]
    key = steps[place].key
    is_open = key in fading.asked(steps, stage) and (variant, key) not in answered()
    if is_open and not steps[place].is_number(*chosen):
        chosen = fading.last_number(steps[place])
    compares = s["we_printed"] and not is_open
    return View(variant, inputs, steps, place, chosen, compares, stage, is_open, s["lang"])


def answered() -> dict[tuple[str, str], str]:
    """Variant and key of the steps that are asked no more in this session, and why."""
    return st.session_state.setdefault("we_answered", {})


def first_cell() -> tuple[int, int]:
    """Row and column, from 1, at which the present step begins: of what is asked, the last."""
    s, steps = state.settings(), example.steps(_variant())
    step = steps[min(s["we_step"], len(steps)) - 1]
    if step.key not in fading.asked(steps, s["we_fade"]):
        return 1, 1
    row, column = fading.last_number(step)
    return row + 1, column + 1


def first_asked() -> int:
    """The number of the first step that the present stage asks, else the present one."""
    s, steps = state.settings(), example.steps(_variant())
    keys = fading.asked(steps, s["we_fade"])
    return 1 + [step.key for step in steps].index(keys[0]) if keys else s["we_step"]


def mend() -> list[Note]:
    """Bring a step or cell beyond the end to the last one; a note for each that was."""
    steps = example.steps(_variant())
    notes = state.at_most(we_step=len(steps))
    rows, columns = steps[state.settings()["we_step"] - 1].result.shape
    return notes + state.at_most(we_row=rows, we_column=columns)


def _variant() -> str:
    s = state.settings()
    return s["we_variant"] + ("_completed" if s["we_completed"] else "")
