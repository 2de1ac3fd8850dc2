"""A chart as every page shows it: with its alternative text and the numbers behind it.

Pages say what is to be drawn, a call of a builder of `mla_engine.figures`. It is made where none
of the same arguments is kept, for all sessions, and kept as what the browser is sent.
"""

from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import orjson
import pandas as pd
import streamlit as st

from mla_engine import figures
from ui import SCRIPTS, asset, css
from ui.engine import shared_cache
from ui.engine.digest import digest
from ui.parts import cells, files
from ui.parts.files import Table
from ui.settings import state
from ui.settings.server import server
from ui.settings.shared import TAGS
from ui.settings.visit import is_plain, visit
from ui.words.text import catalogue, t

PLOTLY = next(SCRIPTS.glob("PlotlyChart.*.js")).name  # which has Plotly in it
BAR = "figures.bar_"  # how the keys of Plotly's own words begin
CHART = "chart"  # the component that draws one
PLACE = '<div class="stPlotlyChart" data-testid="stPlotlyChart" role="figure"></div>'
# Of a chart's height in lecture mode: the lower it is, the larger it and its words are shown.
LOWER, LOWER_MAP = 0.66, 0.72  # a map has a word beside each row
SHORT = 12  # rows of a table that are read at a glance
LOWEST = 240  # pixels: below, the legend would stand on the curves


Drawing = partial[figures.Figure]  # a builder with all its arguments


def show(
    drawing: Drawing,
    key: str,
    *,
    alt: str,
    data: Table | None = None,
    file: str = "",
    clicks: str = "",
    follows: str = "",
) -> None:
    """Draw a chart, and below it a button for its data where it has a table of its own.

    The browser draws it once and changes it in place (assets/chart.js): hover and focus stay.

    Args:
        drawing: a builder of `mla_engine.figures` with its arguments, not yet called.
        key: its name on the page.
        alt: the picture in words.
        data: makes the table behind it, called on click.
        file: the name of that table's file, by default that of the chart.
        clicks: the name under which a click on its cells is told to `Visit.on_cell`.
        follows: the setting whose slider its upright line goes along with.
    """
    name = file.removesuffix(".csv") or key.rpartition(":")[2]
    s = state.settings()
    made, height = ready(drawing, s["lecture"])
    figure = orjson.Fragment(made)
    about = {"alt": alt, "file": name, "clicks": clicks, "script": PLOTLY}
    about["press"] = cells.latest() if clicks and not server().recorded else None
    about["words"] = [t("figures.full"), t("figures.not_full")]
    about["plotly"] = {"locale": TAGS[s["lang"]], "dictionary": _of_plotly()}
    about["follows"] = follows and f"st-key-{css(state.key(follows))}"

    def cell() -> None:
        told = st.session_state[key].get("cell")
        cells.take({"chart": clicks} | told if isinstance(told, dict) else told, visit().on_cell)

    chart = st.components.v2.component(
        CHART, html=PLACE, js=asset("chart.js"), isolate_styles=False
    )
    room = "content" if s["lecture"] else height  # before it is drawn
    chart(key=key, data=orjson.dumps(about | {"figure": figure}), height=room, on_cell_change=cell)
    if data:
        download(data, f"{name}.csv", key)


def show_map(drawing: Drawing, key: str, *, alt: str, clicks: str = "") -> None:
    """Draw a map as `show` does, and below it a button for the numbers that it draws."""
    show(drawing, key, alt=alt, data=partial(_cells, drawing), clicks=clicks)


def _cells(drawing: Drawing) -> pd.DataFrame:
    """Return what a map draws under the names of its rows and columns, masked cells empty."""
    values, *names = drawing.args
    mask = drawing.keywords.get("mask")
    shown = values if mask is None else np.where(mask, values, np.nan)
    rows, columns = names or map(range, values.shape)
    return named(shown, rows, columns)


def named(values: np.ndarray, rows: Iterable, columns: Iterable) -> pd.DataFrame:
    """Return a matrix with the names of its rows and columns; masked cells are empty."""
    texts = (
        [f"{value:.9g}" if np.isfinite(value) else "" for value in row.tolist()] for row in values
    )
    table = [[name, *row] for name, row in zip(rows, texts, strict=True)]
    return pd.DataFrame(table, columns=["", *columns])


def _same(*drawn: object) -> Hashable:
    return digest(drawn)


@shared_cache.cached(key=_same)
def ready(drawing: Drawing, lecture: bool) -> tuple[bytes, int]:
    """Return the figure as JSON, lower in a lecture, and its height.

    Whoever sends it again converts nothing.
    """
    figure = drawing()
    if lecture:
        figure = figures.resized(figure, _lower(figure.spec))
    made = orjson.dumps(figure.to_dict(), option=orjson.OPT_SERIALIZE_NUMPY)
    return made, figure.spec["layout"]["height"]


def _lower(spec: Mapping[str, Any]) -> int:
    is_map = any(trace["type"] == "heatmap" for trace in spec["data"])
    height = spec["layout"]["height"]
    return max(min(height, LOWEST), round(height * (LOWER_MAP if is_map else LOWER)))


def _of_plotly() -> dict[str, str]:
    """Return what Plotly itself says, in English as it does, with the reader's words for it."""
    bar = [key for key in catalogue() if key.startswith(BAR)]
    return {catalogue()[key]["en"]: t(f"figures.bar_{key.removeprefix(BAR)}") for key in bar}


def download(table: Table, file: str, key: str = "") -> None:
    """Draw a button below a picture for its data as CSV; the menu has those of the whole page.

    A click is answered outside of any run of the page: `table` must not ask for texts or settings.
    Two pictures of a page may have files of one name, but each has a `key` of its own.
    Who reads without scripts gets the data in the button's place.
    """
    if is_plain():
        made = table()
        with st.expander(t("common.numbers"), expanded=len(made) <= SHORT):
            st.html(files.html(made))
        return
    visit().tables[key or file] = (file, table)
    made = partial(files.csv_of, table)
    files.button(t("common.download_csv"), made, file, "text/csv", f"download:{key or file}")


def map_words() -> Mapping[str, str]:
    """Return the words that maps and tiles have by themselves, in the reader's language."""
    pooled = t("figures.pooled", rows="{rows}", columns="{columns}")
    names = "query", "key", "head", "masked", "unplaced"
    return {name: t(f"figures.{name}") for name in names} | {"pooled": pooled}


def growth_words() -> Mapping[str, str]:
    """Return the words of a chart of caches that grow with the context."""
    names = {"context": "axis_context", "cache": "axis_cache", "measured": "measured"}
    words = {name: t(f"figures.{key}") for name, key in names.items()}
    return words | {
        "in_unit": t("figures.in_unit", name="{name}", unit="{unit}"),
        "of_measured": t("figures.of_measured", name="{name}"),
    }
