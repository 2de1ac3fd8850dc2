"""Content and position over several layers: one layer after the other, each kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
import torch

from mla_engine import budget, figures
from mla_engine.checkpoints import hidden_bytes, hidden_states_of_layers
from mla_engine.studies.logit_shares import LogitShares, logit_shares
from ui.engine import layers as compute
from ui.engine import queue
from ui.engine import real_layer as source
from ui.engine.real_layer import RealLayer
from ui.pages.real_models import charts as real_charts
from ui.pages.real_models import view as real
from ui.parts import charts, prose
from ui.parts.figure_words import map_words
from ui.settings import state
from ui.words.numbers import count, size
from ui.words.text import t


@dataclass(frozen=True)
class Reach:
    """How many layers' inputs can be had here, and what the next one would hold."""

    layers: int
    read_bytes: int  # to have their inputs
    next_bytes: int | None  # in memory; None where every layer is within reach


@st.cache_data(max_entries=32, show_spinner=False)
def reach(loaded: RealLayer, limit: int) -> Reach:
    """The layers whose input fits the memory budget of `limit` bytes: they are the first ones.

    Raises:
        CheckpointError: as `source.inputs`.
    """
    last = source.plan(loaded).n_layers
    needed = partial(hidden_bytes, source.checkpoint(loaded), loaded.text)
    found = needed(0)
    for layer in range(1, last):
        deeper = needed(layer)
        if deeper.memory_bytes > limit:
            return Reach(layer, found.read_bytes, deeper.memory_bytes)
        found = deeper
    return Reach(last, found.read_bytes, None)


@st.cache_resource(max_entries=2, show_spinner=False)
def _inputs(loaded: RealLayer, layers: int) -> Mapping[int, torch.Tensor]:
    """What enters each of the first layers, h [1,t,d], by one run of the model's beginning."""
    with queue.turn():
        found = hidden_states_of_layers(source.checkpoint(loaded), loaded.text, range(layers))
    return {layer: states.h for layer, states in found.items()}


@st.cache_resource(max_entries=256, show_spinner=False)
def _shares(loaded: RealLayer, _h: torch.Tensor) -> LogitShares:
    """Of all heads of one layer, some heads at a time."""
    config, found = source.plan(loaded).config, []
    for heads in real.blocks(config, _h.shape[1]):
        with queue.turn(), torch.inference_mode():
            layer = compute.built(config, loaded, heads, torch.float32)
            found.append((logit_shares(layer(_h.to(compute.DEVICE))), {}))
    return real.joined_shares(found)


def _measured(loaded: RealLayer, layers: int) -> Iterator[tuple[tuple[int, LogitShares], float]]:
    inputs = _inputs(loaded, layers)
    for layer in range(layers):
        shares = _shares(replace(loaded, layer=layer), inputs[layer])
        yield (layer, shares), (layer + 1) / layers


def section(view: real.View) -> None:
    """The share of position by layer and head, computed when it is asked for."""
    if source.plan(view.loaded).n_layers < 2:
        return
    st.subheader(t("real_models.layers_title"), anchor=False)
    first, limit = replace(view.loaded, layer=0, activations=""), budget.limit_bytes()
    try:
        found = reach(first, limit)
        _said(view.loaded, found, limit)
        if state.settings()["real_layers"]:
            _picture(_all(first, found.layers))
    except ValueError as error:
        prose.refused(error)


def _said(loaded: RealLayer, found: Reach, limit: int) -> None:
    """Which layers there are, which are left out and why, and before it begins a button."""
    prose.say(t("real_models.layers_look", layers=count(found.layers)))
    if found.next_bytes is not None:
        sizes = {"needed": size(found.next_bytes), "limit": size(limit)}
        st.caption(t("real_models.layers_left", first=count(found.layers), **sizes))
    if loaded.activations:
        st.caption(t("real_models.layers_text"))
    if not state.settings()["real_layers"]:
        st.caption(t("real_models.layers_read", size=size(found.read_bytes)))
        begin = partial(state.change, real_layers=True)
        st.button(t("real_models.layers_begin"), on_click=begin, icon=":material/layers:")


def _all(first: RealLayer, layers: int) -> dict[int, LogitShares]:
    """Every layer within reach, with progress and a way to stop between two of them."""
    place, stop = st.empty(), st.empty()
    stop.button(t("real_models.layers_stop"), on_click=partial(state.change, real_layers=False))
    told = t("real_models.layers_running")
    place.progress(0.0, told)
    done = dict(piece for piece, _ in real.with_bar(_measured(first, layers), place, told))
    stop.empty()
    return done


def _picture(found: Mapping[int, LogitShares]) -> None:
    balance = np.stack([shares.balance.numpy() for shares in found.values()])
    layers, heads = balance.shape
    fig = figures.share_map(
        balance,
        axes=(t("real_models.layer"), t("real_models.head")),
        name=t("real_models.position"),
        words=map_words(),
    )
    most = int(np.nan_to_num(balance).mean(1).argmax())
    alt = t("real_models.alt_layers", layers=layers, heads=heads, most=most)
    st.plotly_chart(fig, key="chart:real_layers", alt=alt, config={"displaylogo": False})
    rows = real_charts.numbers(found)
    charts.download(lambda: rows, "layers.csv")
    with st.expander(t("real_models.layers_table")):
        st.dataframe(rows, hide_index=True)
