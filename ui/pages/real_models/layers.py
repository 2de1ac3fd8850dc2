"""Content and position over several layers: one layer after the other, each kept."""

from dataclasses import replace

import streamlit as st

from mla_engine import budget
from mla_engine.studies.logit_shares import LogitShares
from ui.engine import real_layer
from ui.engine.real_layer import RealLayer
from ui.pages.real_models import charts, controls
from ui.pages.real_models.run import Reach, all_latent, measured, reach
from ui.pages.real_models.view import View, with_bar
from ui.parts import prose
from ui.words.numbers import count, size
from ui.words.text import t


def section(view: View) -> None:
    """The share of position by layer and head, computed when it is asked for."""
    if real_layer.plan(view.loaded).n_layers < 2:
        return
    st.subheader(t("real_models.layers_title"), anchor=False)
    if not all_latent(view.loaded):
        prose.note(t("real_models.layers_mixed"))
        return
    first, limit = replace(view.loaded, layer=0, activations=""), budget.limit_bytes()
    try:
        found = reach(first, limit)
        _said(view.loaded, found, limit)
        if view.every_layer:
            charts.layers(_all(first, found.layers))
        else:
            prose.note(t("real_models.layers_read", size=size(found.read_bytes)))
            controls.begin()
    except ValueError as error:
        prose.refused(error)


def _said(loaded: RealLayer, found: Reach, limit: int) -> None:
    """Return which layers there are, and which are left out and why."""
    prose.say(t("real_models.layers_look", layers=count(found.layers)))
    if found.next_bytes is not None:
        sizes = {"needed": size(found.next_bytes), "limit": size(limit)}
        prose.note(t("real_models.layers_left", first=count(found.layers), **sizes))
    if loaded.activations:
        prose.note(t("real_models.layers_text"))


def _all(first: RealLayer, n_layers: int) -> dict[int, LogitShares]:
    """Every layer within reach, with progress and a way to stop between two of them."""
    place, ending, told = st.empty(), st.empty(), t("real_models.layers_running")
    with ending:
        controls.stop()
    place.progress(0.0, told)
    done = dict(with_bar(measured(first, n_layers), place, told))
    ending.empty()
    return done
