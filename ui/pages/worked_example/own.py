"""Boxes for the reader's own matrices."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import NumberError
from ui.pages.worked_example.view import View
from ui.settings import state
from ui.settings.parsers import Parser, Setting
from ui.words.text import safe, t


def _matrix(name: str) -> Parser:
    """Return a parser of the text of a matrix; "" stands for the original one."""

    def parse(text: str) -> str:
        if text:
            worked_example.read(name, text)
        return text

    return parse


SETTINGS = {f"we_{name}": Setting("", _matrix(name)) for name in worked_example.MATRICES}


def draw(here: View) -> None:
    """Draw a box for every matrix of the variant, and the way back to the original ones."""
    for place, name in enumerate(here.boxes):
        if place % 3 == 0:
            columns = st.columns(3)
        with columns[place % 3]:
            _box(here, name)
    originals = {f"we_{name}": "" for name in worked_example.MATRICES}
    st.button(
        t("worked_example.originals"),
        key="we_originals",
        on_click=partial(state.change, **originals),
    )


def _box(here: View, name: str) -> None:
    """Draw the box of one matrix: the last good one stays while an entry cannot be read."""
    key, good = f"we_{name}", here.boxes[name]
    original = worked_example.format_matrix(worked_example.default(name))
    shown = good.typed if isinstance(good, state.Kept) else good or original
    st.session_state[key] = shown
    rows, columns = len(original.split(";")), len(original.split(";")[0].split())
    label = t("worked_example.matrix", name=_spoken(name), rows=rows, columns=columns)
    if name not in worked_example.INPUTS["mla"] + worked_example.INPUTS["mha"]:
        label = f"{label} · {t('worked_example.supplied')}"
    st.text_input(label, max_chars=400, key=key, on_change=_taking(name, key, good, original))
    if reason := _refusal(name, shown):
        st.error(reason, icon=":material/block:")


def _taking(name: str, key: str, good: str, original: str) -> Callable[[], None]:
    """Return what takes over the text of a box."""

    def take() -> None:
        text = st.session_state[key]
        if _refusal(name, text):
            entry = state.Kept.beside(good, text)
        else:
            canonical = worked_example.format_matrix(worked_example.read(name, text))
            entry = "" if canonical == original else canonical
        state.change(**{f"we_{name}": entry})

    return take


def _spoken(name: str) -> str:
    return t(f"worked_example.name_{name}") if name.endswith("_added") else name


def _refusal(name: str, text: str) -> str:
    """Return why the text cannot be read as this matrix; empty if it can."""
    try:
        worked_example.read(name, text)
    except NumberError as error:
        values = {key: safe(str(value)) for key, value in error.values.items()}
        if error.code == "shape":
            values |= {key: _counted(key, n) for key, n in error.values.items() if key != "row"}
        return t(f"worked_example.bad_{error.code}", name=safe(_spoken(name)), **values)
    return ""


def _counted(what: str, n: int) -> str:
    """Return a number of rows or of numbers, in words."""
    noun = "row" if what in ("rows", "given_rows") else "number"
    return t(f"worked_example.one_{noun}") if n == 1 else t(f"worked_example.some_{noun}s", n=n)
