"""A tensor lights wherever the page has it, once it is pointed at: done only in the browser."""

import streamlit as st

from mla_engine import SYMBOLS
from ui import asset


def listen() -> None:
    """Tie what names or draws the same tensor; what is tied has `data-tensor`."""
    roles = {code: symbol.role for code, symbol in SYMBOLS.items()}
    st.components.v2.component("linked", js=asset("linked.js"))(key="linked", data=roles)
