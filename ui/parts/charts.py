"""A chart as every page shows it: with its alternative text and the numbers behind it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from mla_engine.figures import Figure, part_names
from ui.parts import files
from ui.parts.files import Table
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import t

EXPORT = {"format": "png", "scale": 2}  # of the chart's own tool bar: readable on a slide
# Of a chart's height in lecture mode: the lower it is, the larger it and its words are shown.
LOWER, LOWER_MAP = 0.66, 0.72  # a map has a word beside each row
LOWEST = 240  # pixels: below, the legend would stand on the curves
STILL = {"displayModeBar": False}  # for a chart that is turned by a slider, not by the mouse


def show(
    figure: Figure,
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
        figure: of a builder of `mla_engine.figures`.
        key: its name on the page.
        alt: the picture in words.
        data: makes the table behind it, called on click.
        file: the name of that table's file, by default that of the chart.
        clicks: the name under which a click on its cells is told to `bridge.listen`.
        config: of Plotly, beside what every chart has.
    """
    if clicks:
        figure.update_layout(meta={"chart": clicks})
    if state.settings()["lecture"]:
        figure.update_layout(height=_lower(figure))
        part_names(figure)
    name = file.removesuffix(".csv") or key.rpartition(":")[2]
    tools = {"displaylogo": False, "toImageButtonOptions": EXPORT | {"filename": name}}
    st.plotly_chart(figure, width="stretch", key=key, alt=alt, config=tools | dict(config or {}))
    if data:
        download(data, f"{name}.csv", key)


def _lower(figure: Figure) -> int:
    is_map = any(trace.type == "heatmap" for trace in figure.data)
    height = figure.layout.height
    return max(min(height, LOWEST), round(height * (LOWER_MAP if is_map else LOWER)))


def download(table: Table, file: str, key: str = "") -> None:
    """Below a picture its data as CSV, made on click; the menu has those of the whole page.

    A click is answered outside of any run of the page: `table` must not ask for texts or settings.
    Two pictures of a page may have files of one name, but each has a `key` of its own.
    """
    visit().tables[key or file] = (file, table)
    made = partial(_csv, table)
    files.button(t("common.download_csv"), made, file, "text/csv", f"download:{key or file}")


def _csv(table: Table) -> bytes:
    return files.csv(table())
