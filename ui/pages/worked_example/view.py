"""The worked example's stepper: which step and which cell of its result are shown."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import Step, exercises
from ui.engine import example
from ui.settings import state
from ui.settings.page import Note, Stops
from ui.settings.parsers import Setting, flag, one_of, whole
from ui.settings.server import server
from ui.words.text import t

CHOICE = "segmented_control"
ANY = whole(1, 10**9)  # the last depends on variant and step: `mend` brings a number to it
SETTINGS = {
    "we_variant": Setting("mla", one_of("mla", "mha"), CHOICE, write=str.upper),
    "we_completed": Setting(True, flag, "toggle", recorded=True),
    "we_fade": Setting(
        "given",
        one_of(*exercises.STAGES),
        CHOICE,
        "worked_example.stage",
        write=lambda code: t(f"worked_example.stage_{code}"),
    ),
    "we_printed": Setting(False, flag, "toggle", "worked_example.compare"),
    "we_step": Setting(1, ANY, "slider", recorded=range(1, 30)),
    "we_row": Setting(1, ANY, CHOICE),
    "we_column": Setting(1, ANY, CHOICE),
}


@dataclass(frozen=True)
class View:
    """The choice of the settings: a variant's steps, one of them, one cell of its result.

    Args:
        variant: of the example, as the engine names it.
        boxes: the text of each matrix of the variant; "" for the original one.
        steps: all steps of the variant, with these matrices.
        place: of the step that is shown.
        chosen: row and column of a cell of its result.
        compares: whether the source's figures stand beside the computed ones.
        stage: how much is asked of the reader, one of `exercises.STAGES`.
        open: whether the step that is shown is asked, and not answered yet.
        language: of the reader.
        goes_ahead: whether the browser shows a step before the server has heard that it is wanted;
            not where steps are asked, in the story (it has its own keys), or in a copy of the site.
    """

    variant: str
    boxes: Mapping[str, str]
    steps: tuple[Step, ...]
    place: int
    chosen: tuple[int, int]
    compares: bool
    stage: str
    open: bool
    language: str
    goes_ahead: bool

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self.steps[self.place]

    @property
    def is_completed(self) -> bool:
        """True where the second token is there, with what else the source lacks."""
        return self.variant.endswith("_completed")

    @property
    def inputs(self) -> dict[str, str]:
        """The reader's own matrices."""
        return {name: str(text) for name, text in self.boxes.items() if text}

    @property
    def changed(self) -> frozenset[str]:
        """The matrices that hold numbers of the reader's."""
        return frozenset(name.removesuffix("_added") for name in self.inputs)

    @property
    def verdict(self) -> str:
        """The chosen cell's printed figure follows, differs or is not to be had."""
        figure = self.step.printed(*self.chosen)
        if figure is None:
            return "nothing"
        if self.step.follows(*self.chosen):
            return "follows"
        return "unknown" if self.step.difference(*self.chosen) is None else "differs"


def view() -> View:
    """Return the view of the mended settings."""
    s, variant = state.settings(), _variant()
    boxes = {name: s[f"we_{name}"] for name in worked_example.INPUTS[variant]}
    chosen = (s["we_row"] - 1, s["we_column"] - 1)
    steps = example.steps(variant, **{name: str(text) for name, text in boxes.items() if text})
    place, stage = s["we_step"] - 1, s["we_fade"]
    key = steps[place].key
    is_open = key in exercises.asked(steps, stage) and (variant, key) not in answered()
    if is_open and not steps[place].is_number(*chosen):
        chosen = exercises.last_number(steps[place])
    compares = s["we_printed"] and not is_open
    ahead = stage == "given" and not s["stop"] and not server().recorded
    return View(variant, boxes, steps, place, chosen, compares, stage, is_open, s["lang"], ahead)


def answered() -> dict[tuple[str, str], str]:
    """Return variant and key of the steps that are asked no more in this session, and why."""
    return st.session_state.setdefault("we_answered", {})


def to_first_cell() -> None:
    """Choose the cell at which the present step begins: of one that is asked, the last number."""
    s, steps = state.settings(), example.steps(_variant())
    step = steps[min(s["we_step"], len(steps)) - 1]
    asked = step.key in exercises.asked(steps, s["we_fade"])
    row, column = exercises.last_number(step) if asked else (0, 0)
    s.update(we_row=row + 1, we_column=column + 1)


def to_first_step() -> None:
    """Begin another variant at its first step."""
    state.settings().update(we_step=1)
    to_first_cell()


def to_first_asked() -> None:
    """Ask everything again, from the first step that the present stage asks, if it asks any."""
    answered().clear()
    s, steps = state.settings(), example.steps(_variant())
    if keys := exercises.asked(steps, s["we_fade"]):
        s.update(we_step=1 + [step.key for step in steps].index(keys[0]))
    to_first_cell()


def to_step(number: int) -> None:
    """Show this step, from 1, at its first cell."""
    state.settings().update(we_step=number)
    to_first_cell()
    state.write()


def stops() -> Stops:
    """Return the steps as a clicker's stops."""
    last = len(example.steps(_variant()))
    present = min(last, state.settings()["we_step"])
    codes = tuple(str(number) for number in range(1, last + 1))
    return Stops(codes, present - 1, lambda code: to_step(int(code)))


def mend() -> list[Note]:
    """Bring a step or cell beyond the end to the last one; return a note for each that was."""
    steps = example.steps(_variant())
    notes = state.at_most(we_step=len(steps))
    rows, columns = steps[state.settings()["we_step"] - 1].result.shape
    return notes + state.at_most(we_row=rows, we_column=columns)


def _variant() -> str:
    s = state.settings()
    return s["we_variant"] + ("_completed" if s["we_completed"] else "")
