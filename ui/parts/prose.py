"""A page's title, its sentences with tensors in their colours, and refusals."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic

import streamlit as st

from mla_engine.budget import MemoryBudgetError
from ui.engine.queue import FullError
from ui.parts import reader
from ui.settings.visit import visit
from ui.sources import Drawn, Source
from ui.words.glossary import explained
from ui.words.numbers import size
from ui.words.text import refusal, safe, t

RETRY_SECONDS = 5
MOST_LETTERS = 24  # that the style sheet has a width for


def title(text: str) -> None:
    """Draw the page's title: one short statement, which stays while a slider moves."""
    st.title(text, anchor=False)


def lead(number: str, line: str, look: str = "", *, of_layer: bool = True) -> None:
    """Draw below the title the number that follows the controls, its line, what to look at.

    Args:
        number: written.
        line: goes on with it.
        look: what to look at.
        of_layer: whether it is about the layer that is chosen, of which `badges` then says whose.
    """
    room = st.container(key=f"lead_room_{_letters(number)}")
    with room, st.container(key="lead", horizontal=True, vertical_alignment="center"):
        st.markdown(number, width="content")
        say(line)
    if look:
        with st.container(key="look"):
            say(look)
    if of_layer:
        badges()


def badges() -> None:
    """Say whose weights the chosen layer has, and what it reads."""
    reader.badge()


def _letters(number: str) -> int:
    """Return an even count of letters: room for the number whatever its digits."""
    widest = re.sub(r"\d[\d,.]*", lambda digits: digits[0].ljust(5, "0"), number)
    count = sum(2 if ord(letter) > 0x2E7F else 1 for letter in widest)
    return min(count + count % 2, MOST_LETTERS)


def say(text: str) -> None:
    """Draw our own words as Markdown, tensors in their colours and explained on hover."""
    st.markdown(explained(text), unsafe_allow_html=True)


def note(text: str) -> None:
    """Draw a sentence in small type."""
    st.caption(explained(text), unsafe_allow_html=True)


def weights_mark(source: Source, name: str = "random") -> str:
    """Return HTML for the end of a caption that names random weights; none of other weights."""
    if not isinstance(source, Drawn):
        return ""
    means = html.escape(t("weights.means", seed=source.seed))
    tag = f'<span class="term drawn" tabindex="-1" aria-description="{means}">'
    return f"&ensp;{tag}{t(f'weights.{name}')}</span>"


def refused(error: ValueError) -> None:
    """Draw one sentence on why a configuration cannot run; the rest of the page goes on."""
    said = reason(error)
    if not isinstance(error, MemoryBudgetError):
        said = t("common.refused", reason=safe(said))
    st.error(said, icon=":material/block:")
    if isinstance(error, FullError) and not visit().busy:
        visit().busy = True
        _again()


@contextmanager
def refusals() -> Iterator[None]:
    """Draw in the place of a section the `ValueError` that refuses it."""
    try:
        yield
    except ValueError as refusal:
        refused(refusal)


def _again() -> None:
    """Draw a button that runs the page again; once a full run the page does so by itself."""
    st.button(t("common.try_again"), icon=":material/refresh:", key="try_again")
    st.caption(t("common.tries_again", seconds=RETRY_SECONDS))
    due = monotonic() + RETRY_SECONDS / 2  # the run that draws the page is not yet a try
    st.fragment(partial(_retry, due), run_every=RETRY_SECONDS)()


def _retry(due: float) -> None:
    if monotonic() > due:
        st.rerun()


def reason(error: ValueError) -> str:
    """Return why something could not be computed, in the reader's language."""
    if isinstance(error, MemoryBudgetError):
        needed, limit = size(error.needed_bytes), size(error.limit_bytes)
        return t("common.too_large", needed=needed, limit=limit)
    return refusal(error)
