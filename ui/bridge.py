"""What Streamlit's charts and widgets do not tell Python: clicks on heatmap cells, clicker keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from ui import state

ASSETS = Path(__file__).parent.parent / "assets"
TOUR = "tour"


def _ignore() -> None:
    """A trigger needs a callback to reach Python."""


def listen(
    key: str,
    *,
    on_cell: Callable[[dict[str, Any]], None] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> None:
    """Call `on_cell({"chart", "x", "y"})` and `on_step(+1 or -1)` before the next run.

    A figure takes part if its layout has `meta={"chart": "a name"}`. During the guided tour the
    keys are the tour's.
    """
    if state.settings()["stop"] and key != TOUR:
        on_step = None
    bridge = st.components.v2.component(
        "cell_and_key_bridge", js=(ASSETS / "bridge.js").read_text("utf-8")
    )

    def cell() -> None:
        if on_cell and st.session_state[key].get("cell"):
            on_cell(st.session_state[key]["cell"])

    def step() -> None:
        if on_step and st.session_state[key].get("step"):
            on_step(st.session_state[key]["step"])

    bridge(
        key=key,
        data={"keys": on_step is not None, "cells": on_cell is not None},
        on_cell_change=cell,
        on_step_change=step,
    )


def copy_link(query: str, *, label: str, done: str) -> None:
    """A button that copies this page's address, in the browser's own origin, with `query`."""
    button = st.components.v2.component(
        "copy_link",
        html='<button class="quiet" type="button"></button><input hidden readonly>',
        css=(ASSETS / "copy_link.css").read_text("utf-8"),
        js=(ASSETS / "copy_link.js").read_text("utf-8"),
    )
    button(key="copy_link", data={"query": query, "label": label, "done": done})
