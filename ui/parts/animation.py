"""The library by which pictures move in the browser.

It stands in an element of its own, which no change alters: what is sent again with each change of a
picture is the picture's own script and numbers.
"""

import streamlit as st

from ui import ASSETS

FILE = ASSETS / "vendor/anime-4.4.1.umd.min.js"
NOTHING = "\nexport default () => {};"


def load() -> None:
    """Have it there, once a page: a picture stands first, and moves when the reader asks for it."""
    script = FILE.read_text("utf-8") + NOTHING
    st.components.v2.component("animation", js=script)(key="animation")
