"""A chart as every page shows it: with its alternative text and the numbers behind it.

Pages say what is to be drawn, a call of a builder of `mla_engine.figures`. It is made where none
of the same arguments is kept, for all sessions, and kept as what the browser is sent.
"""

from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.lazy import LazyModule
from ui.engine import shared_cache
from ui.engine.digest import digest
from ui.parts import files
from ui.parts.files import Table
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import t

pd = LazyModule("pandas")

EXPORT = {"format": "png", "scale": 2}  # of the chart's own tool bar: readable on a slide
# Of a chart's height in lecture mode: the lower it is, the larger it and its words are shown.
LOWER, LOWER_MAP = 0.66, 0.72  # a map has a word beside each row
LOWEST = 240  # pixels: below, the legend would stand on the curves


Drawing = partial[figures.Figure]  # a builder with all its arguments


class Ready(figures.Figure):
    """A figure as it is written to JSON, made once: who sends it again has nothing to convert."""

    def __init__(self, figure: figures.Figure, meta: Mapping[str, str] | None) -> None:
        self.__dict__["written"] = written = figure.to_dict()
        written["layout"] |= {"meta": meta} if meta else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary that is kept: nobody changes it."""
        return self.written


def show(
    drawing: Drawing,
    key: str,
    *,
    alt: str,
    data: Table | None = None,
    file: str = "",
    clicks: str = "",
    config: Mapping[str, Any] | None = None,
) -> None:
    """Draw a chart, and below it a button for its data where it has a table of its own.

    Args:
        drawing: a builder of `mla_engine.figures` with its arguments, not yet called.
        key: its name on the page.
        alt: the picture in words.
        data: makes the table behind it, called on click.
        file: the name of that table's file, by default that of the chart.
        clicks: the name under which a click on its cells is told to `bridge.listen`.
        config: of Plotly, beside what every chart has.
    """
    figure = ready(drawing, clicks, state.settings()["lecture"])
    name = file.removesuffix(".csv") or key.rpartition(":")[2]
    tools = {"displaylogo": False, "toImageButtonOptions": EXPORT | {"filename": name}}
    st.plotly_chart(figure, width="stretch", key=key, alt=alt, config=tools | dict(config or {}))
    if data:
        download(data, f"{name}.csv", key)


def show_map(drawing: Drawing, key: str, *, alt: str, clicks: str = "") -> None:
    """Draw a map as `show` does, and below it a button for the numbers that it draws."""
    show(drawing, key, alt=alt, data=partial(_cells, drawing), clicks=clicks)


def _cells(drawing: Drawing) -> "pd.DataFrame":
    """Return what a map draws under the names of its rows and columns, masked cells empty."""
    values, *names = drawing.args
    mask = drawing.keywords.get("mask")
    cells = values if mask is None else np.where(mask, values, np.nan)
    rows, columns = names or map(range, values.shape)
    return named(cells, rows, columns)


def named(values: np.ndarray, rows: Iterable, columns: Iterable) -> "pd.DataFrame":
    """Return a matrix with the names of its rows and columns; masked cells are empty."""
    cells = (
        [f"{value:.9g}" if np.isfinite(value) else "" for value in row.tolist()] for row in values
    )
    table = [[name, *row] for name, row in zip(rows, cells, strict=True)]
    return pd.DataFrame(table, columns=["", *columns])


def _same(*drawn: object) -> Hashable:
    return digest(drawn)


@shared_cache.cached(key=_same)
def ready(drawing: Drawing, clicks: str, lecture: bool) -> Ready:
    """Return the figure for the browser: with the name of its clicks, lower in a lecture."""
    figure = drawing()
    if lecture:
        figure = figures.resized(figure, _lower(figure.spec))
    return Ready(figure, {"chart": clicks} if clicks else None)


def _lower(spec: Mapping[str, Any]) -> int:
    is_map = any(trace["type"] == "heatmap" for trace in spec["data"])
    height = spec["layout"]["height"]
    return max(min(height, LOWEST), round(height * (LOWER_MAP if is_map else LOWER)))


def download(table: Table, file: str, key: str = "") -> None:
    """Draw a button below a picture for its data as CSV; the menu has those of the whole page.

    A click is answered outside of any run of the page: `table` must not ask for texts or settings.
    Two pictures of a page may have files of one name, but each has a `key` of its own.
    """
    visit().tables[key or file] = (file, table)
    made = partial(_csv, table)
    files.button(t("common.download_csv"), made, file, "text/csv", f"download:{key or file}")


def _csv(table: Table) -> bytes:
    return files.csv(table())


def map_words() -> Mapping[str, str]:
    """Return the words that maps and tiles have by themselves, in the reader's language."""
    pooled = t("figures.pooled", rows="{rows}", columns="{columns}")
    names = "query", "key", "head", "masked"
    return {name: t(f"figures.{name}") for name in names} | {"pooled": pooled}


def growth_words() -> Mapping[str, str]:
    """Return the words of a chart of caches that grow with the context."""
    names = {"context": "axis_context", "cache": "axis_cache", "measured": "measured"}
    return {name: t(f"figures.{key}") for name, key in names.items()}
