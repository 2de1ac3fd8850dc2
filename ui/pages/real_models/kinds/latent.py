"""A layer of MLA: heads of content and of position, what is cached, its matrices, other layers."""

import math

import streamlit as st

from ui.engine import real_layer
from ui.pages.real_models import charts, layers
from ui.pages.real_models import maps as drawn
from ui.pages.real_models.view import View
from ui.parts import maps, prose
from ui.words.numbers import count, heads, share
from ui.words.text import t

cell, listen = drawn.cell, drawn.listen


def lead(view: View) -> tuple[str, str]:
    """Return how many heads look at places more than at words."""
    facts = {"layer": count(view.loaded.layer), "heads": count(view.config.n_heads)}
    facts["name"] = real_layer.title(view.loaded)
    if view.measured is None:
        return heads(view.config.n_heads), t("real_models.line_one", **facts)
    positional = int((view.balance > 0.5).sum())
    number = t("common.out_of", n=count(positional), all=facts["heads"])
    return number, _say(view, "line", positional=count(positional), **facts)


def look(view: View) -> str:
    """Return the sentence on what to compare."""
    return _say(view, "look") if view.measured else t("real_models.look_grouped")


def _say(view: View, key: str, **values: str) -> str:
    """A text on content and position; without a rotation, on own keys and the shared one."""
    return t(f"real_models.{key}{'' if view.of_places else '_shared'}", **values)


def chosen(view: View) -> str:
    """Tell whether the chosen head looks at words or places; "" where one token has neither."""
    if view.measured is None:
        return ""
    position, head = float(view.balance[view.maps.head]), count(view.maps.head)
    if math.isnan(position):
        return t("real_models.kind_flat", head=head)
    if position > 0.5:
        return _say(view, "kind_position", head=head, share=share(position))
    return _say(view, "kind_content", head=head, share=share(1 - position))


def first(view: View) -> None:
    """The maps, and what the logits of every head are made of."""
    drawn.maps_of(view)
    if view.measured is None:
        st.info(t("real_models.one_token"))
        return
    st.subheader(_say(view, "shares_title"), anchor=False)
    prose.say(_say(view, "shares_look"))
    charts.shares(view)


def below(view: View) -> None:
    """From logits to attention, what is cached, the matrices, other layers."""
    st.subheader(t("maps.parts_title"), anchor=False)
    maps.charts.parts(view.maps)
    if view.measured is None:
        return
    st.subheader(t("real_models.latents_title"), anchor=False)
    charts.cached(view, "c_KV", "k_R")
    charts.matrices(view)
    layers.section(view)
