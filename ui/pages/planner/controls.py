"""The controls of the planner: which model, on which GPUs, with how many tokens."""

import streamlit as st

from ui.pages.planner.view import PASTED
from ui.parts import given, links
from ui.parts.control import control
from ui.settings.page import Link
from ui.settings.server import server
from ui.settings.state import settings
from ui.words.text import t


def draw(*, of_files: bool) -> None:
    """Draw what everybody chooses; not the weights' type where a folder's files have theirs."""
    control("plan_model")
    control("plan_gpu")
    _pair("tensor", "data")
    _explained("context")
    with st.container(horizontal=True):
        control("plan_weights", disabled=of_files)
        control("plan_kv")
    _pair("pipeline", "dcp", texts="dealing")
    _explained("mtp", "dealing")


def more(*, opened: bool) -> None:
    """Draw what some choose: another model, one of their own, what is not in its config.json."""
    with st.expander(t("planner.more"), expanded=opened):
        control("plan_beside")
        given.ask("plan_own", PASTED)
        columns = st.columns(3, vertical_alignment="bottom")
        for column, name in zip(columns, ("parameters", "active", "overhead"), strict=True):
            with column:
                _explained(name)


def to_log() -> None:
    """Draw the way to the page that explains an engine's log, with a model that was named here."""
    if server().recorded:
        return
    link = Link("kv_cache", {"kv_own": settings()["plan_own"]})
    st.button(t("planner.log_link"), key="plan_log", on_click=links.follow, args=(link,))


def _pair(*names: str, texts: str = "planner") -> None:
    for column, name in zip(st.columns(2, vertical_alignment="bottom"), names, strict=True):
        with column:
            _explained(name, texts)


def _explained(name: str, texts: str = "planner") -> None:
    control(f"plan_{name}", help=t(f"{texts}.{name}_help"))
