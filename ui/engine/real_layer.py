"""A real checkpoint in the place of seeded weights: the reader's choice and what it brings.

Pages that can show one say so in their `Page`; on the others the choice rests.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st
import torch

from mla_engine import checkpoints, mechanisms
from mla_engine.checkpoints import Checkpoint, Plan, describe, open_checkpoint
from mla_engine.drawn import drawn
from mla_engine.layer import AttentionLayer
from ui.engine import kept
from ui.engine.folders import APP, inside
from ui.settings import state
from ui.settings.page import ANY_LAYER, Note
from ui.settings.visit import visit
from ui.words.numbers import count, size
from ui.words.text import safe, t

MOST_TOKENS, LONGEST_NAME = 512, 40  # so that maps can be drawn, and a title read
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


@dataclass(frozen=True)
class RealLayer:
    """One attention layer of a checkpoint and a text: stands where a seed stands otherwise."""

    location: str  # a repository of the Hub, or a folder on this server
    revision: str
    layer: int
    text: str = ""
    activations: str = ""  # a file with the layer's inputs, in the place of the text

    @property
    def weights(self) -> "RealLayer":
        """This layer for any text: what its weights depend on."""
        return replace(self, text="", activations="")


Origin = int | RealLayer  # a seed, or a real layer


def chosen() -> RealLayer | None:
    """What the settings name, on a page that can use it and where it could be read."""
    return None if visit().failed else named()


def named() -> RealLayer | None:
    """What the settings name, also where it cannot be read."""
    s = state.settings()
    if not (s["source"] and visit().page.real_layers):
        return None
    text = s["text"] or t("real_layer.example")
    return RealLayer(s["source"], s["revision"], s["layer"], text, s["activations"])


@kept.keep
def _opened(where: str | Path, revision: str) -> Checkpoint:
    return open_checkpoint(where, revision or None)


def checkpoint(loaded: RealLayer) -> Checkpoint:
    """The checkpoint, its config and index read.

    Raises:
        CheckpointError: it cannot be read, with the reason.
    """
    name = loaded.location
    on_hub = HUB_NAME.fullmatch(name) and not (APP / name).is_dir()
    return _opened(name if on_hub else inside(name), loaded.revision)


@kept.keep(by=lambda where, _: where)
def _plan(where: RealLayer, _checkpoint: Checkpoint) -> Plan:
    return describe(_checkpoint, where.layer)


def plan(loaded: RealLayer) -> Plan:
    """What the layer is and how many bytes it takes to read.

    Raises:
        CheckpointError: a layer that cannot be read, with the reason.
    """
    return _plan(loaded.weights, checkpoint(loaded))


@kept.keep(by=lambda loaded, _: loaded)
def _inputs(loaded: RealLayer, _checkpoint: Checkpoint) -> "checkpoints.HiddenStates":
    activations = inside(loaded.activations) if loaded.activations else None
    return checkpoints.hidden_states(
        _checkpoint, loaded.text, loaded.layer, activations=activations
    )


def inputs(loaded: RealLayer) -> "checkpoints.HiddenStates":
    """What enters the layer: h [1,t,d] and its tokens as the model's own tokenizer cuts them.

    Raises:
        CheckpointError, MemoryBudgetError: no tokenizer, a text over the limit, a layer too deep.
    """
    return _inputs(loaded, checkpoint(loaded))


def attention(
    loaded: RealLayer,
    heads: tuple[int, ...] | None,
    dtype: torch.dtype,
    device: torch.device | str,
) -> AttentionLayer:
    """The layer with its weights; `heads` builds these alone.

    Raises:
        CheckpointError, MemoryBudgetError: as `checkpoints.load_attention`.
    """
    place = {"dtype": dtype, "device": device}
    return checkpoints.load_attention(checkpoint(loaded), loaded.layer, heads=heads, **place)


def needed(loaded: RealLayer) -> "checkpoints.HiddenBytes":
    """What `inputs` of this layer and text reads and holds, known from headers.

    Raises:
        CheckpointError: as `inputs`.
    """
    return checkpoints.hidden_bytes(checkpoint(loaded), loaded.text, loaded.layer)


def inputs_of_layers(loaded: RealLayer, n_layers: int) -> Mapping[int, torch.Tensor]:
    """What enters each of the first layers, h [1,t,d], by one run of the model's beginning.

    Raises:
        CheckpointError, MemoryBudgetError: as `inputs`.
    """
    layers = range(n_layers)
    found = checkpoints.hidden_states_of_layers(checkpoint(loaded), loaded.text, layers)
    return {layer: states.h for layer, states in found.items()}


def prepare() -> list[Note]:
    """Before anything is drawn: bring the layer within the model, read what is not at hand yet.

    What fails here is told by `failure`, and the page goes on with seeded weights.
    """
    visit().failed = None
    loaded = named()
    if loaded is None:
        return []
    try:
        notes = state.at_most(layer=plan(replace(loaded, layer=0)).n_layers - 1)
        _fetch(named())
        _check(named())
    except ValueError as error:
        visit().failed = error
        return []
    return notes


def _check(loaded: RealLayer) -> None:
    """Raise ValueError where this page cannot show the layer or the text."""
    if visit().page.real_layers not in (ANY_LAYER, mechanisms.of(plan(loaded).config).key):
        raise ValueError(t("real_layer.no_latent"))
    if (given := len(inputs(loaded).tokens)) > MOST_TOKENS:
        raise ValueError(t("real_layer.too_many", given=count(given), most=count(MOST_TOKENS)))


@st.cache_resource(show_spinner=False)
def _at_hand() -> set[RealLayer]:
    """The layers of the Hub whose bytes lie in its cache on this server."""
    return set()


def _fetch(loaded: RealLayer) -> None:
    """Read what a run will need, with progress; a change of any widget stops it in between."""
    found, origin = plan(loaded), checkpoint(loaded)
    if not (origin.is_local or loaded.weights in _at_hand()):
        told = t("real_layer.reading", size=size(found.n_bytes), name=safe(loaded.location))
        bar = st.progress(0.0, told)
        origin.read(found.tensors, lambda done, total: bar.progress(done / max(total, 1), told))
        bar.empty()
        _at_hand().add(loaded.weights)
    with st.spinner(t("real_layer.preparing", layer=loaded.layer), show_time=True):
        inputs(loaded)


def name(loaded: RealLayer) -> str:
    """The checkpoint and its layer in a few words, safe as Markdown."""
    key = "name_random" if checkpoint(loaded).is_random else "name"
    return t(f"real_layer.{key}", model=safe(loaded.location), layer=loaded.layer)


def own_name(loaded: RealLayer) -> str:
    """The checkpoint's own name alone, as plain text; a long one is cut."""
    name = drawn(loaded.location.rstrip("/").rsplit("/", 1)[-1])
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def title(loaded: RealLayer) -> str:
    """Its own name, safe as Markdown."""
    return safe(own_name(loaded))
