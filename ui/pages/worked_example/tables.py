"""All steps of the worked example as files."""

import pandas as pd
import streamlit as st

from mla_engine.worked_example import Gap
from ui.pages.worked_example.view import View
from ui.parts import files
from ui.words.text import t


def cells(here: View) -> pd.DataFrame:
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
    makers = {
        "csv": lambda: files.csv(cells(here)),
        "xlsx": lambda: files.xlsx(cells(here), here.variant),
    }
    for place, (kind, made) in zip(st.columns(3), makers.items(), strict=False):
        place.download_button(
            t(f"worked_example.download_{kind}"),
            made,
            f"worked_example_{here.variant}.{kind}",
            key=f"we_{kind}",
            on_click="ignore",
            width="stretch",
        )
