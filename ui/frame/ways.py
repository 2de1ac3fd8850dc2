"""Buttons of the bars: an icon, its words for the ear and the tooltip."""

from collections.abc import Callable

import streamlit as st

from ui.words.text import t


def button(
    bar: str,
    name: str,
    icon: str,
    act: Callable[[], None],
    *,
    nowhere: bool = False,
    **options: str,
) -> None:
    """One way of a bar, "story" or "lecture"; `nowhere` is at the end that it leads beyond."""
    label = t(f"{bar}.{name}")
    st.button(
        label,
        icon=f":material/{icon}:",
        key=f"{bar}_{name}",
        help=label,
        on_click=act,
        disabled=nowhere,
        **options,
    )
