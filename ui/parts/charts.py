"""A chart as every page shows it: with its alternative text and the numbers behind it."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from mla_engine.figures import Figure
from ui.parts import files
from ui.settings import state
from ui.words.text import t

EXPORT = {"format": "png", "scale": 2}  # of the chart's own tool bar: readable on a slide
# Of a chart's height in lecture mode: the lower it is, the larger it and its words are shown.
LOWER, LOWER_MAP = 0.69, 0.76  # a map has a word beside each row
STILL = {"displayModeBar": False}  # for a chart that is turned by a slider, not by the mouse

Table = Callable[[], pd.DataFrame]


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
    name = file.removesuffix(".csv") or key.rpartition(":")[2]
    tools = {"displaylogo": False, "toImageButtonOptions": EXPORT | {"filename": name}}
    st.plotly_chart(figure, width="stretch", key=key, alt=alt, config=tools | dict(config or {}))
    if data:
        download(data, f"{name}.csv", key)


def _lower(figure: Figure) -> int:
    is_map = any(trace.type == "heatmap" for trace in figure.data)
    return round(figure.layout.height * (LOWER_MAP if is_map else LOWER))


def download(table: Table, file: str, key: str = "") -> None:
    """A quiet button beside a picture: its data as CSV, made on click.

    A click is answered outside of any run of the page: `table` must not ask for texts or settings.
    Two pictures of a page may have files of one name, but each has a `key` of its own.
    """
    st.download_button(
        t("common.download_csv"),
        lambda: files.csv(table()),
        file,
        "text/csv",
        key=f"download:{key or file}",
        on_click="ignore",
    )
