"""All steps of the worked example as files."""

from functools import partial

import streamlit as st

from mla_engine.late import Late
from mla_engine.worked_example import Gap
from ui.pages.worked_example.view import View
from ui.parts import files
from ui.settings.visit import visit
from ui.words.text import t

pd = Late("pandas")


def cells(here: View) -> "pd.DataFrame":
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
        for row, values in enumerate(step.result.rows)
        for column, value in enumerate(values)
    ]
    return pd.DataFrame(records)


def _number(value: object) -> float | None:
    if value is None or value is Gap.MISSING:
        return None
    return float("-inf") if value is Gap.MASKED else float(value)


def downloads(here: View) -> None:
    """The table as CSV that a spreadsheet reads as UTF-8, and as a workbook; made on click."""
    visit().tables["steps"] = (f"worked_example_{here.variant}.csv", partial(cells, here))
    kinds = {
        "csv": ("text/csv", lambda: files.csv(cells(here))),
        "xlsx": (files.XLSX, lambda: files.xlsx(cells(here), here.variant)),
    }
    with st.container(horizontal=True):
        for kind, (mime, made) in kinds.items():
            file = f"worked_example_{here.variant}.{kind}"
            files.button(t(f"worked_example.download_{kind}"), made, file, mime, f"we_{kind}")
