"""The worked example's stepper: which step and cell are shown, and how to move."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import Step, show
from ui import ASSETS
from ui.pages.worked_example.board import name_html
from ui.parts import bridge
from ui.settings import state
from ui.settings.page import Note
from ui.words.numbers import digits
from ui.words.text import t

CLICKS = ASSETS / "cell_clicks.js"


@dataclass(frozen=True)
class Scene:
    """What the settings choose: a variant's steps, one of them, one cell of its result."""

    variant: str
    changed: frozenset[str]
    steps: tuple[Step, ...]
    place: int
    chosen: tuple[int, int]

    @property
    def step(self) -> Step:
        """The step on the screen."""
        return self.steps[self.place]

    @property
    def title(self) -> str:
        """A statement with live numbers: printed figures that follow, or the completed softmax."""
        if self.variant.endswith("completed"):
            attention = next(step for step in self.steps if step.key == "attention").result
            shares = [digits(100 * float(attention.rows[row][0])) for row in (1, 3)]
            return t("worked_example.title_completed", first=shares[0], second=shares[1])
        follow, all_printed = worked_example.printed_count(self.steps)
        key = "title_changed" if self.changed else "title"
        values = {"variant": self.variant.upper(), "follow": follow, "printed": all_printed}
        return t(f"worked_example.{key}", **values)

    @property
    def heading(self) -> str:
        """Which step this is, and in words what it does."""
        kind = self.step.key.removesuffix("_heads") if self.step.key.endswith("_heads") else ""
        says = t("worked_example.do_heads") if kind else t(f"worked_example.do_{self._meaning}")
        return t("worked_example.heading", n=self.place + 1, of=len(self.steps), says=says)

    @property
    def _meaning(self) -> str:
        grouped = self.variant.startswith("mha") and self.step.key in ("q", "k")
        return f"{self.step.key}_projected" if grouped else self.step.key

    @property
    def terms(self) -> str:
        """The chosen cell written out as HTML, or what is missing to compute it."""
        written = self.step.terms(*self.chosen)
        if written:
            raised = re.sub(r"e\^(\([^)]*\)|[\d.x]+)", r"e<sup>\1</sup>", written)
            return re.sub(r"^[a-z]\w*(?=\[)", lambda match: name_html(match[0]), raised)
        position = {"position": t("worked_example.the_position")}
        missing = ", ".join(position.get(n) or name_html(n) for n in self.step.missing)
        return t("worked_example.not_computable", missing=missing)

    @property
    def verdict(self) -> str:
        """Whether the chosen cell's printed figure follows, differs or is not to be had."""
        figure = self.step.printed(*self.chosen)
        if figure is None:
            return "nothing"
        if self.step.follows(*self.chosen):
            return "follows"
        return "unknown" if self.step.difference(*self.chosen) is None else "differs"

    @property
    def comparison(self) -> str:
        """The chosen cell beside its printed figure, in words."""
        figure = (self.step.printed(*self.chosen) or "").replace("-", "\N{MINUS SIGN}")
        difference = self.step.difference(*self.chosen)
        shown = "" if difference is None else show(difference).removeprefix("≈")
        key = f"worked_example.compare_{self.verdict}"
        return t(key, printed=figure, difference=shown)

    @property
    def written_out(self) -> str:
        """Terms, comparison and remarks as HTML; the stylesheet keeps their place of one height."""
        row, column = self.chosen
        place = f"{name_html(self.step.name)}[{row + 1}, {column + 1}]"
        return (
            f'<div class="written"><p class="terms"><span class="place">{place}:</span> '
            f'{self.terms}</p><p class="compare {self.verdict}">{self.comparison}</p>'
            f"<p>{self.notes}</p></div>"
        )

    @property
    def notes(self) -> str:
        """Remarks on the step."""
        codes = [*self.step.notes, *([] if self.step.exact else ["rounded"])]
        return " ".join(t(f"worked_example.note_{code}") for code in codes)


def _variant() -> str:
    s = state.settings()
    return s["we_variant"] + ("_completed" if s["we_completed"] else "")


def mend() -> list[Note]:
    """Bring a step or cell beyond the end to the last one; a note for each that was."""
    steps = worked_example.steps(_variant())
    notes = state.at_most(we_step=len(steps))
    rows, columns = steps[state.settings()["we_step"] - 1].result.shape
    return notes + state.at_most(we_row=rows, we_column=columns)


def scene() -> Scene:
    """The scene of the present settings."""
    s, variant = state.settings(), _variant()
    names = worked_example.INPUTS[variant]
    inputs = {n: worked_example.read(n, s[f"we_{n}"]) for n in names if s[f"we_{n}"]}
    steps = worked_example.steps(variant, inputs)
    changed = frozenset(name.removesuffix("_added") for name in inputs)
    chosen = (s["we_row"] - 1, s["we_column"] - 1)
    return Scene(variant, changed, steps, s["we_step"] - 1, chosen)


def first_cell() -> None:
    """A new step begins at its first cell."""
    state.settings().update(we_row=1, we_column=1)


def first_step() -> None:
    """Another variant begins at its first step."""
    state.settings().update(we_step=1)
    first_cell()


def _step_to(step: int) -> None:
    state.change(we_step=step, we_row=1, we_column=1)


def buttons(here: Scene) -> list[tuple[str, str, Callable[[], None], bool]]:
    """First, previous, next, last: name, icon, what it does, whether it leads nowhere."""
    n, last = here.place + 1, len(here.steps)
    moves = (
        ("first", "first_page", 1),
        ("previous", "chevron_left", n - 1),
        ("next", "chevron_right", n + 1),
        ("last", "last_page", last),
    )
    return [
        (name, f":material/{icon}:", partial(_step_to, to), to == n or not 1 <= to <= last)
        for name, icon, to in moves
    ]


def selector(name: str, size: int) -> None:
    """Chooses the row or column of the result."""
    label = t(f"worked_example.{name.removeprefix('we_')}")
    state.control(st.segmented_control, label, name, list(range(1, size + 1)), required=True)


def listen(here: Scene) -> None:
    """Clicks on cells of the result, and the keys of a clicker."""

    def on_step(change: int) -> None:
        step = state.settings()["we_step"] + change
        _step_to(min(len(here.steps), max(1, step)))

    def on_cell() -> None:
        row, column = map(int, st.session_state["we_clicks"]["cell"].split(","))
        state.change(we_row=row, we_column=column)

    bridge.listen("we_keys", on_step=on_step)
    clicks = st.components.v2.component("cell_clicks", js=CLICKS.read_text("utf-8"))
    clicks(key="we_clicks", on_cell_change=on_cell)
