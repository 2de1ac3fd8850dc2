"""Tables as files for a spreadsheet: a text that a stranger chose is never a formula there.

What begins as a formula gets an apostrophe before it in CSV; a workbook's cells say that they hold
text. Spreadsheets in some countries take a semicolon for the end of a cell, so what follows one
counts as a beginning too.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import streamlit as st

from kvcount.drawn import drawn
from ui.settings.server import server

Table = Callable[[], pd.DataFrame]

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_FORMULA = re.compile(r"(^|;)(?=['\"\s]*[=+\-@＝＋－＠])")
_NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE)


def button(label: str, made: Callable[[], bytes], file: str, mime: str, key: str) -> None:
    """Draw the quiet button, everywhere the same, of a file that is made on click.

    A copy has nobody who would make it.
    """
    if server().recorded:
        return
    st.download_button(
        label,
        made,
        file,
        mime,
        key=key,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def csv(table: pd.DataFrame) -> bytes:
    """Return the table as CSV that a spreadsheet reads as UTF-8."""
    return _with_texts(table, inert).to_csv(index=False).encode("utf-8-sig")


def csv_of(table: Table) -> bytes:
    """Return the table that this makes as CSV."""
    return csv(table())


def html(table: pd.DataFrame) -> str:
    """Return the table as HTML, to be read where it stands."""
    named = not isinstance(table.index, pd.RangeIndex)
    return table.to_html(border=0, index=named, na_rep="", float_format="{:.4g}".format)


def together(tables: Iterable[tuple[str, Table]]) -> bytes:
    """Return tables as CSV files of one archive; of two of one name the later has a number."""
    content, taken = BytesIO(), Counter()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name, table in tables:
            taken[name] += 1
            again = f"_{taken[name]}" if taken[name] > 1 else ""
            archive.writestr(name.removesuffix(".csv") + again + ".csv", csv(table()))
    return content.getvalue()


def xlsx(table: pd.DataFrame, sheet: str) -> bytes:
    """Return the table as a workbook of one sheet."""
    content = BytesIO()
    with pd.ExcelWriter(content, engine="openpyxl") as writer:
        made = _with_texts(table, drawn)
        made.to_excel(writer, sheet_name=sheet, index=False, inf_rep="inf")
        for row in writer.book.worksheets[0].iter_rows():
            for cell in row:
                _keep_text(cell)
    return content.getvalue()


def inert(text: str) -> str:
    """Return a text as CSV holds it: what would be computed stands behind an apostrophe."""
    text = drawn(text)
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub(r"\1'", text)


def _keep_text(cell: Any) -> None:
    """Mark a text as one, also for whoever edits the cell; openpyxl makes a formula of "=1"."""
    if isinstance(cell.value, str):
        cell.data_type, cell.quotePrefix = "s", bool(_FORMULA.match(cell.value))


def _with_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return the table with `change(text)` for every text, names of columns included."""

    def changed(value: object) -> object:
        return change(value) if isinstance(value, str) else value

    columns = [s if pd.api.types.is_numeric_dtype(s) else s.map(changed) for _, s in table.items()]
    made = pd.concat(columns, axis=1)
    return made.set_axis([changed(name) for name in table.columns], axis=1)
