"""Content and position over several layers: one layer after the other, each kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import budget, figures
from mla_engine.checkpoints import hidden_bytes, hidden_states_of_layers
from mla_engine.logit_shares import LogitShares, logit_shares, table
from ui import compute, maps_charts, page, real, source, state
from ui.source import Loaded
from ui.text import count, size, t


@dataclass(frozen=True)
class Reach:
    """How many layers' inputs can be had here, and what the next one would hold."""

    layers: int
    next_bytes: int | None  # None where every layer is within reach


@st.cache_data(max_entries=32, show_spinner=False)
def reach(loaded: Loaded) -> Reach:
    """The layers whose input fits the memory budget: they are the first ones.

    Raises:
        CheckpointError: as `source.inputs`.
    """
    limit, last = budget.limit_bytes(), source.plan(loaded).n_layers
    needed = partial(hidden_bytes, source.checkpoint(loaded), loaded.text)
    low, high = 1, last  # the first layer's has been made; search the last one that fits
    while low < high:
        middle = (low + high + 1) // 2
        fits = needed(middle - 1).memory_bytes <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return Reach(low, needed(low).memory_bytes if low < last else None)


@st.cache_resource(max_entries=2, show_spinner=False)
def _inputs(loaded: Loaded, layers: int) -> Mapping[int, torch.Tensor]:
    """What enters each of the first layers, h [1,t,d], by one run of the model's beginning."""
    found = hidden_states_of_layers(source.checkpoint(loaded), loaded.text, range(layers))
    return {layer: states.h for layer, states in found.items()}


@st.cache_resource(max_entries=256, show_spinner=False)
def _shares(loaded: Loaded, _h: torch.Tensor) -> LogitShares:
    """Of all heads of one layer, some heads at a time."""
    config, found = source.plan(loaded).config, []
    for heads in real.blocks(config, _h.shape[1]):
        layer = compute.layer(config, loaded, heads)
        with compute.queue().turn(), torch.inference_mode():
            found.append((logit_shares(layer(_h.to(compute.DEVICE))), {}))
    return real.joined_shares(found)


def _measured(loaded: Loaded, layers: int) -> Iterator[tuple[tuple[int, LogitShares], float]]:
    inputs = _inputs(loaded, layers)
    for layer in range(layers):
        shares = _shares(replace(loaded, layer=layer), inputs[layer])
        yield (layer, shares), (layer + 1) / layers


def section(view: real.View) -> None:
    """The share of position by layer and head, computed when it is asked for."""
    st.subheader(t("real_models.layers_title"), anchor=False)
    found = reach(replace(view.loaded, layer=0, activations=""))
    page.prose(t("real_models.layers_look", layers=count(found.layers)))
    if found.next_bytes is not None:
        sizes = {"needed": size(found.next_bytes), "limit": size(budget.limit_bytes())}
        st.caption(t("real_models.layers_left", first=count(found.layers), **sizes))
    if not state.settings()["real_layers"]:
        begin = partial(state.change, real_layers=True)
        st.button(t("real_models.layers_begin"), on_click=begin, icon=":material/layers:")
        return
    _picture(_all(view.loaded, found.layers))


def _all(loaded: Loaded, layers: int) -> dict[int, LogitShares]:
    """Every layer within reach, with progress and a way to stop between two of them."""
    place, stop = st.empty(), st.empty()
    stop.button(t("real_models.layers_stop"), on_click=partial(state.change, real_layers=False))
    first, told = replace(loaded, layer=0, activations=""), t("real_models.layers_running")
    place.progress(0.0, told)
    done = dict(piece for piece, _ in real.with_bar(_measured(first, layers), place, told))
    stop.empty()
    return done


def _picture(found: Mapping[int, LogitShares]) -> None:
    balance = np.stack([shares.balance.numpy() for shares in found.values()])
    layers, heads = (list(map(str, range(side))) for side in balance.shape)
    fig = figures.share_map(
        balance,
        axes=(t("real_models.layer"), t("real_models.head")),
        name=t("real_models.position"),
        rows=layers,
        columns=heads,
        words=maps_charts.figure_words(),
    )
    most = int(balance.mean(1).argmax())
    alt = t("real_models.alt_layers", layers=len(layers), heads=len(heads), most=most)
    st.plotly_chart(fig, key="chart:real_layers", alt=alt, config={"displaylogo": False})
    rows = pd.DataFrame(table(found))
    page.download(lambda: rows, "layers.csv")
    with st.expander(t("real_models.layers_table")):
        st.dataframe(rows, hide_index=True)
