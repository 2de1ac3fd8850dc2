"""The line of ways to the parts further down, and the place of each part."""

from contextlib import AbstractContextManager
from types import ModuleType

import streamlit as st

from ui.pages.compression import as_mla, by_cache, cut, inside, queries, runs, staircase
from ui.pages.compression.column import Column
from ui.settings.visit import is_plain
from ui.words.text import t


def part(module: ModuleType) -> AbstractContextManager:
    """Return the place of a part, which `draw` leads to."""
    return st.container(key=key(module))


def key(module: ModuleType) -> str:
    """Return the key of the place of a part."""
    return f"part_{_name(module)}"


def draw(shown: Column) -> None:
    """Draw a way to each part that there is."""
    if is_plain():  # where the whole page stands as words, one below the other
        return
    parts = [by_cache]
    parts += [staircase] if shown.quality and shown.quality.caches else []
    parts += [cut] if shown.layer.answers else []
    parts += [inside, as_mla, queries]
    parts += [runs] if shown.quality else []
    ways = (f'<a href="#{key(one)}">{t(f"compression.to_{_name(one)}")}</a>' for one in parts)
    st.html(f'<p class="contents">{t("compression.contents")} {" · ".join(ways)}</p>')


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]
