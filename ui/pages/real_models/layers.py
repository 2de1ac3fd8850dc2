"""Content and position over several layers: one layer after the other, each kept."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from mla_engine import budget, figures
from mla_engine.studies.logit_shares import LogitShares, logit_shares, table
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.pages.real_models.view import View, joined
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.parts.pieces import Reach, blocks, reach, with_bar
from ui.settings import state
from ui.settings.page import mla_layer, those
from ui.settings.parsers import Setting, flag
from ui.sources import Checkpoint, checkpoint
from ui.words.numbers import count, size
from ui.words.text import t

SETTINGS = {"real_layers": Setting(False, flag)}  # whether all layers are compared


def section(view: View) -> None:
    """Draw the share of position by layer and head, computed when it is asked for."""
    if checkpoint.plan(view.loaded).n_layers < 2:
        return
    st.subheader(t("real_models.layers_title"), anchor=False)
    if not {*checkpoint.plan(view.loaded).mechanisms} <= {*those(mla_layer)}:  # as a hybrid's
        prose.note(t("real_models.layers_mixed"))
        return
    first, limit = replace(view.loaded, layer=0, activations=""), budget.limit_bytes()
    try:
        found = reach(first, limit)
        _said(view.loaded, found, limit)
        if view.chosen.layers:
            _draw(_all(first, found.layers))
        else:
            prose.note(t("pieces.read", size=size(found.read_bytes)))
            label, compare = t("real_models.layers_begin"), partial(state.change, real_layers=True)
            st.button(label, on_click=compare, icon=":material/layers:")
    except ValueError as error:
        prose.refused(error)


def _said(loaded: Checkpoint, found: Reach, limit: int) -> None:
    """Say which layers there are, and which are left out and why."""
    prose.say(t("real_models.layers_look", layers=count(found.layers)))
    if found.next_bytes is not None:
        sizes = {"needed": size(found.next_bytes), "limit": size(limit)}
        prose.note(t("pieces.left", first=count(found.layers), **sizes))
    if loaded.activations:
        prose.note(t("pieces.text"))


def _all(first: Checkpoint, n_layers: int) -> dict[int, LogitShares]:
    """Return every layer within reach, with progress and a way to stop between two of them."""
    place, ending, told = st.empty(), st.empty(), t("real_models.layers_running")
    stop = partial(state.change, real_layers=False)
    ending.button(t("real_models.layers_stop"), on_click=stop)
    place.progress(0.0, told)
    done = dict(with_bar(measured(first, n_layers), place, told))
    ending.empty()
    return done


def measured(loaded: Checkpoint, n_layers: int) -> Iterator[tuple[tuple[int, LogitShares], float]]:
    """Yield layer after layer and its shares, with the share that is done; each layer is kept."""
    inputs = checkpoint.inputs_of_layers(loaded, n_layers)
    for layer in range(n_layers):
        shares = _shares(replace(loaded, layer=layer), inputs[layer])
        yield (layer, shares), (layer + 1) / n_layers


@shared_cache.cached(key=lambda loaded, _: loaded)
def _shares(loaded: Checkpoint, h: Tensor) -> LogitShares:
    """Return the shares of all heads of one layer, some heads at a time."""
    config, found = checkpoint.plan(loaded).config, []
    for heads in blocks(config, h.shape[1]):
        layer = loaded.attention(config, heads, torch.float32)
        with queue.turn(), torch.inference_mode():
            found.append(logit_shares(layer(h.to(DEVICE))))
    return joined(found)


def _draw(found: Mapping[int, LogitShares]) -> None:
    """Draw the share of position by layer and head."""
    balance = np.stack([shares.balance.numpy() for shares in found.values()])
    fig = partial(
        figures.share_map,
        balance,
        axes=(t("real_models.layer"), t("real_models.head")),
        name=t("real_models.position"),
        words=map_words(),
    )
    most = int(np.nan_to_num(balance).mean(1).argmax())
    n_layers, n_heads = map(count, balance.shape)
    alt = t("real_models.alt_layers", layers=n_layers, heads=n_heads, most=count(most))
    rows = numbers(found)
    charts.show(fig, "chart:real_layers", alt=alt, data=lambda: rows, file="layers.csv")
    with st.expander(t("real_models.layers_table")):
        st.dataframe(rows, hide_index=True)


def numbers(layers: Mapping[int, LogitShares]) -> pd.DataFrame:
    """Return every layer and head, its columns in the reader's language."""
    rows = pd.DataFrame(table(layers))
    return rows.rename(columns={name: t(f"real_models.{name}") for name in rows.columns})
