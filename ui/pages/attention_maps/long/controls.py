"""The controls beside a long text's maps."""

import streamlit as st

from ui.pages.attention_maps.long.view import LongView, mend
from ui.parts import bridge
from ui.settings import state
from ui.words.text import t


def cell() -> None:
    """The query and the key in whose part of the map the reader looks."""
    last = state.settings()["map_generated"] - 1
    for name in ("query", "key"):
        label = t(f"attention_maps.long_{name}")
        state.control(st.slider, label, f"map_{name}", 0, last, then=mend)


def listen(view: LongView) -> None:
    """Let a click on a block open its largest share, and one on the exact part choose the cell."""

    def clicked(cell: dict) -> None:
        last = view.text.tokens - 1
        query, key = (min(max(round(cell[axis]), 0), last) for axis in "yx")
        if cell["chart"] == "long_blocks":
            query, key = view.largest_of(query, key)
        state.change(map_query=query, map_key=key)

    bridge.listen("map_clicks", on_cell=clicked)
