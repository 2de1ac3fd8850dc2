"""A layer that keeps keys and values: its maps."""

import streamlit as st

from ui.engine import real_layer
from ui.pages.real_models import maps as drawn
from ui.pages.real_models.view import View
from ui.parts import maps
from ui.words.numbers import count, heads
from ui.words.text import t

cell, listen = drawn.cell, drawn.listen


def lead(view: View) -> tuple[str, str]:
    """Return how many heads read how many KV heads."""
    facts = {"layer": count(view.loaded.layer), "heads": count(view.config.n_heads)}
    facts |= {"name": real_layer.title(view.loaded), "groups": count(view.config.n_kv_heads)}
    return heads(view.config.n_heads), t("real_models.line_grouped", **facts)


def look(_view: View) -> str:
    """Return the sentence on what to compare."""
    return t("real_models.look_grouped")


def chosen(_view: View) -> str:
    """Nothing is measured of its heads."""
    return ""


def first(view: View) -> None:
    """The maps, and why there is no more."""
    drawn.maps_of(view)
    st.info(t("real_models.no_latent"))


def below(view: View) -> None:
    """From logits to attention."""
    st.subheader(t("maps.parts_title"), anchor=False)
    maps.charts.parts(view.maps)
