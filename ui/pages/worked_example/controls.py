"""Ways through the worked example, and boxes for the reader's own matrices."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import NumberError, fading
from ui import asset
from ui.pages.worked_example import view as views
from ui.pages.worked_example.view import View
from ui.parts import bridge
from ui.settings import state
from ui.words.text import safe, t


def choose(here: View) -> None:
    """Which example and which step of it."""
    state.control(
        st.segmented_control,
        t("worked_example.variant"),
        "we_variant",
        ["mla", "mha"],
        format_func=str.upper,
        required=True,
        label_visibility="collapsed",
        width="content",
        then=first_step,
    )
    state.control(
        st.toggle,
        t("worked_example.completed"),
        "we_completed",
        help=t("worked_example.completed_help"),
        width="content",
        then=first_step,
    )
    with st.container(key="we_moves", horizontal=True, gap="xsmall", width="content"):
        _moves(here)
    state.control(
        st.slider,
        t("worked_example.scrubber", of=len(here.steps)),
        "we_step",
        1,
        len(here.steps),
        label_visibility="collapsed",
        width=220,
        then=first_cell,
    )


def compare() -> None:
    """Whether the source's figures stand beside the computed ones."""
    label, why = t("worked_example.compare"), t("worked_example.compare_help")
    state.control(st.toggle, label, "we_printed", help=why)


def stage() -> None:
    """How many of the last steps are asked of the reader; then to the first of them."""
    state.control(
        st.segmented_control,
        t("worked_example.stage"),
        "we_fade",
        list(fading.STAGES),
        format_func=lambda code: t(f"worked_example.stage_{code}"),
        required=True,
        then=_to_what_is_asked,
    )


def _to_what_is_asked() -> None:
    views.answered().clear()
    state.settings().update(we_step=views.first_asked())
    first_cell()


def _moves(here: View) -> None:
    n, last = here.place + 1, len(here.steps)
    for name, icon, to in (
        ("first", "first_page", 1),
        ("previous", "chevron_left", n - 1),
        ("next", "chevron_right", n + 1),
        ("last", "last_page", last),
    ):
        st.button(
            t(f"worked_example.{name}"),
            icon=f":material/{icon}:",
            key=f"we_{name}",
            help=t(f"worked_example.{name}_help"),
            on_click=partial(_step_to, to),
            disabled=to == n or not 1 <= to <= last,
        )


def choose_cell(here: View) -> None:
    """Which cell of the result."""
    for name, size in zip(("row", "column"), here.step.result.shape, strict=True):
        state.control(
            st.segmented_control,
            t(f"worked_example.{name}"),
            f"we_{name}",
            list(range(1, size + 1)),
            required=True,
        )


def listen(here: View) -> None:
    """Clicks on cells of the result, and the keys of a clicker."""

    def on_step(change: int) -> None:
        step = state.settings()["we_step"] + change
        _step_to(min(len(here.steps), max(1, step)))

    def on_cell() -> None:
        row, column = map(int, st.session_state["we_clicks"]["cell"].split(","))
        state.change(we_row=row, we_column=column)

    bridge.listen("we_keys", on_step=on_step)
    clicks = st.components.v2.component("cell_clicks", js=asset("cell_clicks.js"))
    clicks(key="we_clicks", on_cell_change=on_cell)


def first_cell() -> None:
    """A new step begins at its first cell, one that is asked at its last."""
    row, column = views.first_cell()
    state.settings().update(we_row=row, we_column=column)


def first_step() -> None:
    """Another variant begins at its first step."""
    state.settings().update(we_step=1)
    first_cell()


def _step_to(step: int) -> None:
    state.settings().update(we_step=step)
    first_cell()
    state.write()


def input_boxes(here: View) -> None:
    """A box for every matrix of the variant, and the way back to the original ones."""
    for place, name in enumerate(worked_example.INPUTS[here.variant]):
        if place % 3 == 0:
            columns = st.columns(3)
        with columns[place % 3]:
            _input_box(name)
    originals = {f"we_{name}": "" for name in worked_example.MATRICES}
    st.button(
        t("worked_example.originals"),
        key="we_originals",
        on_click=partial(state.change, **originals),
    )


def _input_box(name: str) -> None:
    """A text box for one matrix: the last good one stays while an entry cannot be read."""
    key, good = f"we_{name}:{state.settings()['lang']}", state.settings()[f"we_{name}"]
    original = worked_example.format_matrix(worked_example.default(name))
    shown = good.typed if isinstance(good, state.Kept) else good or original
    st.session_state[key] = shown
    rows, columns = len(original.split(";")), len(original.split(";")[0].split())
    label = t("worked_example.matrix", name=_spoken(name), rows=rows, columns=columns)
    if name not in worked_example.INPUTS["mla"] + worked_example.INPUTS["mha"]:
        label = f"{label} · {t('worked_example.supplied')}"
    st.text_input(label, max_chars=400, key=key, on_change=_keep(name, key, good, original))
    if reason := _refusal(name, shown):
        st.error(reason, icon=":material/block:")


def _keep(name: str, key: str, good: str, original: str) -> Callable[[], None]:
    """What takes over the text of a box."""

    def keep() -> None:
        text = st.session_state[key]
        if _refusal(name, text):
            kept = state.Kept.beside(good, text)
        else:
            canonical = worked_example.format_matrix(worked_example.read(name, text))
            kept = "" if canonical == original else canonical
        state.change(**{f"we_{name}": kept})

    return keep


def _spoken(name: str) -> str:
    return t(f"worked_example.name_{name}") if name.endswith("_added") else name


def _refusal(name: str, text: str) -> str:
    """Why the text cannot be read as this matrix; empty if it can."""
    try:
        worked_example.read(name, text)
    except NumberError as error:
        values = {key: safe(str(value)) for key, value in error.values.items()}
        if error.code == "shape":
            values |= {key: _counted(key, n) for key, n in error.values.items() if key != "row"}
        return t(f"worked_example.bad_{error.code}", name=safe(_spoken(name)), **values)
    return ""


def _counted(what: str, n: int) -> str:
    """A number of rows or of numbers, in words."""
    noun = "row" if what in ("rows", "given_rows") else "number"
    return t(f"worked_example.one_{noun}") if n == 1 else t(f"worked_example.some_{noun}s", n=n)
