"""The controls beside a state, and clicks on its pictures."""

import streamlit as st

from mla_engine import figures
from ui.parts import bridge
from ui.parts.maps.charts import LARGE
from ui.parts.maps.view import Maps, short
from ui.settings import state
from ui.words.text import t


def words(maps: Maps) -> None:
    """After which word the state is read, and of which word the value is looked for in it."""
    numbered = [f"{i} · {short(word)}" for i, word in enumerate(maps.run.words)]
    for name in ("query", "key"):
        state.control(
            st.select_slider if name == "query" else st.selectbox,
            t(f"maps.state_{name}"),
            f"map_{name}",
            range(len(numbered)),
            format_func=numbered.__getitem__,
        )


def listen(maps: Maps) -> None:
    """Let a click on the map choose both words."""

    def clicked(cell: dict) -> None:
        place = cell["x"], cell["y"]
        query, key = figures.cell_at(maps.matrix("attention"), *place, height=LARGE)
        state.change(map_query=query, map_key=key)

    bridge.listen("map_clicks", on_cell=clicked)
