"""The worked example's matrices as the reader's own, and its steps as files."""

from collections.abc import Callable
from functools import partial
from io import BytesIO

import pandas as pd
import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import Gap, NumberError
from ui.pages.worked_example.view import Scene
from ui.settings import state
from ui.words.text import safe, t


def input_box(name: str) -> None:
    """A text box for one matrix: the last good one stays while an entry cannot be read."""
    setting, key = f"we_{name}", f"we_{name}:{state.settings()['lang']}"
    original = worked_example.format_matrix(worked_example.default(name))
    good = state.settings()[setting]
    shown = good.typed if isinstance(good, state.Kept) else good or original
    st.session_state[key] = shown

    def keep() -> None:
        text = st.session_state[key]
        if _refusal(name, text):
            kept = state.Kept.beside(good, text)
        else:
            canonical = worked_example.format_matrix(worked_example.read(name, text))
            kept = "" if canonical == original else canonical
        state.change(**{setting: kept})

    rows, columns = len(original.split(";")), len(original.split(";")[0].split())
    label = t("worked_example.matrix", name=_spoken(name), rows=rows, columns=columns)
    if name not in worked_example.INPUTS["mla"] + worked_example.INPUTS["mha"]:
        label = f"{label} · {t('worked_example.supplied')}"
    st.text_input(label, max_chars=400, key=key, on_change=keep)
    if reason := _refusal(name, shown):
        st.error(reason, icon=":material/block:")


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


def input_boxes(here: Scene) -> None:
    """A box for every matrix of the variant, and the way back to the original ones."""
    for place, name in enumerate(worked_example.INPUTS[here.variant]):
        if place % 3 == 0:
            columns = st.columns(3)
        with columns[place % 3]:
            input_box(name)
    originals = {f"we_{name}": "" for name in worked_example.MATRICES}
    st.button(
        t("worked_example.originals"),
        key="we_originals",
        on_click=partial(state.change, **originals),
    )


def table(here: Scene) -> pd.DataFrame:
    """Every cell of every step: computed, exact, printed, difference; numbers as numbers.

    `repeats` marks figures that the source prints for the second time: the title counts the others.
    """
    records = [
        {
            "step": place,
            "symbol": step.key,
            "row": row + 1,
            "column": column + 1,
            "computed": _number(value),
            "exact": "" if isinstance(value, Gap) or not step.exact else str(value),
            "terms": step.terms(row, column),
            "printed": _number(step.printed(row, column)),
            "computed_less_printed": _number(step.difference(row, column)),
            "follows": step.follows(row, column),
            "repeats": step.repeats and step.printed(row, column) is not None,
        }
        for place, step in enumerate(here.steps, start=1)
        for row, cells in enumerate(step.result.rows)
        for column, value in enumerate(cells)
    ]
    return pd.DataFrame(records)


def _number(value: object) -> float | None:
    if value is None or value is Gap.MISSING:
        return None
    return float("-inf") if value is Gap.MASKED else float(value)


def file(here: Scene, kind: str) -> Callable[[], bytes]:
    """What makes the table as CSV that a spreadsheet reads as UTF-8, or as a workbook, on click."""

    def csv() -> bytes:
        return table(here).to_csv(index=False).encode("utf-8-sig")

    def xlsx() -> bytes:
        content = BytesIO()
        table(here).to_excel(content, index=False, sheet_name=here.variant, inf_rep="-inf")
        return content.getvalue()

    return {"csv": csv, "xlsx": xlsx}[kind]
