"""What a page says: its title, sentences with tensors in their colours, and refusals."""

import streamlit as st

from mla_engine.budget import MemoryBudgetError
from ui.parts import real_layer
from ui.words.numbers import size
from ui.words.text import refusal, safe, t


def title(text: str, look: str) -> None:
    """The page's title, a statement, and one sentence on what to look at."""
    st.title(text, anchor=False)
    say(look)
    real_layer.badge()


def say(text: str) -> None:
    """Our own words as Markdown, tensors in their colours with their meaning as tooltip."""
    st.markdown(text, unsafe_allow_html=True)


def refused(error: ValueError) -> None:
    """One clear sentence where a configuration cannot run; the rest of the page goes on."""
    said = reason(error)
    if not isinstance(error, MemoryBudgetError):
        said = t("common.refused", reason=safe(said))
    st.error(said, icon=":material/block:")


def reason(error: ValueError) -> str:
    """Why something could not be computed, in the reader's language where the engine has a code."""
    if isinstance(error, MemoryBudgetError):
        needed, limit = size(error.needed_bytes), size(error.limit_bytes)
        return t("common.too_large", needed=needed, limit=limit)
    return refusal(error)
