"""The worked example's matrices as the reader's own, and its steps as files."""

from collections.abc import Callable
from functools import partial
from io import BytesIO

import pandas as pd
import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import Gap, NumberError
from ui import state
from ui.stepper import Scene
from ui.text import safe, t


def input_box(name: str) -> None:
    """A text box for one matrix: the last good one stays while an entry cannot be read."""
    setting, key = f"we_{name}", f"we_{name}:{state.settings()['lang']}"
    refused: dict[str, tuple[str, str]] = st.session_state.get("we_refused", {})
    original = worked_example.format_matrix(worked_example.default(name))
    good = state.settings()[setting] or original
    st.session_state[key] = refused.get(name, (good, ""))[0]

    def keep() -> None:
        text = st.session_state[key]
        try:
            rows = worked_example.read(name, text)
        except NumberError as error:
            st.session_state.we_refused = {name: (text, _reason(name, error))}
            return
        canonical = worked_example.format_matrix(rows)
        state.change(**{setting: "" if canonical == original else canonical})

    rows, columns = len(original.split(";")), len(original.split(";")[0].split())
    label = t("worked_example.matrix", name=_spoken(name), rows=rows, columns=columns)
    if name not in worked_example.INPUTS["mla"] + worked_example.INPUTS["mha"]:
        label = f"{label} · {t('worked_example.supplied')}"
    st.text_input(label, max_chars=400, key=key, on_change=keep)
    if name in refused:
        st.error(refused[name][1], icon=":material/block:")


def _spoken(name: str) -> str:
    return t(f"worked_example.name_{name}") if name.endswith("_added") else name


def _reason(name: str, error: NumberError) -> str:
    values = {key: safe(str(value)) for key, value in error.values.items()}
    return t(f"worked_example.bad_{error.code}", name=safe(_spoken(name)), **values)


def input_boxes(here: Scene) -> None:
    """A box for every matrix of the variant, and the way back to the original ones."""
    for place, name in enumerate(worked_example.INPUTS[here.variant]):
        if place % 3 == 0:
            columns = st.columns(3)
        with columns[place % 3]:
            input_box(name)
    st.session_state.pop("we_refused", None)  # the box shows the good matrix at the next run
    originals = {f"we_{name}": "" for name in worked_example.MATRICES}
    st.button(
        t("worked_example.originals"),
        key="we_originals",
        on_click=partial(state.change, **originals),
    )


def table(here: Scene) -> pd.DataFrame:
    """Every cell of every step: computed, exact, printed, difference; numbers as numbers."""
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
