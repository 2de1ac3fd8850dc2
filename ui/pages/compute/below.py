"""What stands below the roofline: where bytes come from, and where the limits turn."""

import streamlit as st

from ui.pages.compute import after, charts, words
from ui.pages.compute.view import View
from ui.parts import prose
from ui.words.text import t


def bytes_moved(view: View) -> None:
    """The bytes of each way by their parts."""
    prose.say(t("compute.bytes_look"))
    charts.byte_bars(view)


def choosing(view: View) -> None:
    """From how many tokens on the indexer saves more than it costs."""
    st.subheader(t("compute.choosing_title"), anchor=False)
    prose.say(words.choosing(view))
    charts.choosing(view)


def over_contexts(view: View) -> None:
    """What MLA and what came after it take over the context, and the products of the chosen way."""
    prose.say(after.over(view))
    charts.over_contexts(view)


def products(view: View) -> None:
    """The products of the chosen way."""
    prose.say(after.products(view))
    charts.products(view)


def turns(view: View) -> None:
    """When to expand, and when memory is no more the limit."""
    expanding, turning = st.columns(2, gap="large")
    with expanding:
        st.subheader(t("compute.expand_title"), anchor=False)
        prose.say(words.expansion(view))
        charts.expansion(view)
    with turning:
        st.subheader(t("compute.turn_title"), anchor=False)
        prose.say(words.turning(view))
        charts.turning(view)
        prose.say(words.batches(view))
