"""A real checkpoint in the place of seeded weights: the reader's choice and what it brings.

Nothing of a checkpoint is opened here: workers do that, in processes of their own.
Pages that can show one say so in their `Page`; on the others the choice rests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock

import streamlit as st
import torch
from cachetools import TTLCache

from mla_engine import mechanisms
from mla_engine.checkpoints import HiddenBytes, HiddenStates, Plan
from mla_engine.checkpoints.files import REPOSITORY
from mla_engine.checkpoints.tokens import check_text
from mla_engine.drawn import drawn
from mla_engine.layer import AttentionLayer
from ui.engine import folders, shared_cache, shown
from ui.engine.workers import access, limits
from ui.engine.workers.access import Place
from ui.engine.workers.pool import ask
from ui.settings import state
from ui.settings.page import ANY_LAYER, Note
from ui.settings.visit import visit
from ui.words.numbers import count, size
from ui.words.text import safe, t

MOST_TOKENS, LONGEST_NAME = 512, 40  # so that maps can be drawn, and a title read


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


def place(loaded: RealLayer) -> Place:
    """What is to be read: a folder, or else a repository of the Hub.

    Raises:
        CheckpointError: what this server does not read.
    """
    name, revision = loaded.location, loaded.revision
    if REPOSITORY.fullmatch(name) and not folders.is_folder(name):
        return access.repository(name, revision)
    return access.folder(name, revision)


@shared_cache.cached(key=lambda where, _: where)
def _plan(where: RealLayer, _place: Place) -> Plan:
    return ask("plan", _place, limits.of_looking(), layer=where.layer)


def plan(loaded: RealLayer) -> Plan:
    """What the layer is and how many bytes it takes to read.

    Raises:
        CheckpointError: a layer that cannot be read, with the reason.
    """
    return _plan(loaded.weights, place(loaded))


@shared_cache.cached(key=lambda loaded, _: loaded)
def _inputs(loaded: RealLayer, _place: Place) -> HiddenStates:
    file = str(folders.inside(loaded.activations)) if loaded.activations else None
    given = {"text": loaded.text, "layer": loaded.layer, "activations": file}
    return ask("inputs", _place, limits.of_reading(), **given)


def inputs(loaded: RealLayer) -> HiddenStates:
    """What enters the layer: h [1,t,d] and its tokens as the model's own tokenizer cuts them.

    Raises:
        CheckpointError, MemoryBudgetError: no tokenizer, a text over the limit, a layer too deep.
    """
    check_text(loaded.text)
    return _inputs(loaded, place(loaded))


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
    given = {"layer": loaded.layer, "heads": heads, "dtype": str(dtype).removeprefix("torch.")}
    config, weights = ask("attention", place(loaded), limits.of_reading(), **given)
    return mechanisms.of(config).layer.of_weights(config, weights, heads, dtype, device)


def needed(loaded: RealLayer) -> HiddenBytes:
    """What `inputs` of this layer and text reads and holds, known from headers.

    Raises:
        CheckpointError: as `inputs`.
    """
    check_text(loaded.text)
    given = {"text": loaded.text, "layer": loaded.layer}
    return ask("needed", place(loaded), limits.of_looking(), **given)


def inputs_of_layers(loaded: RealLayer, n_layers: int) -> Mapping[int, torch.Tensor]:
    """What enters each of the first layers, h [1,t,d], by one run of the model's beginning.

    Raises:
        CheckpointError, MemoryBudgetError: as `inputs`.
    """
    check_text(loaded.text)
    given = {"text": loaded.text, "n_layers": n_layers}
    return ask("inputs_of_layers", place(loaded), limits.of_reading(), **given)


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
        shown.require(named().layer, lambda layer: plan(replace(loaded, layer=layer)))
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
def _at_hand() -> tuple[TTLCache, Lock]:
    """The layers of the Hub whose bytes came to this server lately."""
    return TTLCache(256, 600), Lock()


def _fetch(loaded: RealLayer) -> None:
    """Read what a run will need, with progress; a change of any widget stops it in between."""
    origin, (at_hand, lock) = place(loaded), _at_hand()
    with lock:
        known = loaded in at_hand
    if not (origin.folder or known):
        _download(loaded, origin)
        with lock:
            at_hand[loaded] = True
    with st.spinner(t("real_layer.preparing", layer=loaded.layer), show_time=True):
        inputs(loaded)


def _download(loaded: RealLayer, origin: Place) -> None:
    told = t("real_layer.reading", size=size(plan(loaded).n_bytes), name=safe(loaded.location))
    bar = st.progress(0.0, told)

    def progress(done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), told)

    text = None if loaded.activations else loaded.text
    ask("fetch", origin, limits.of_reading(), progress, text=text, layer=loaded.layer)
    bar.empty()


def name(loaded: RealLayer) -> str:
    """The checkpoint and its layer in a few words, safe as Markdown."""
    key = "name_random" if plan(loaded).is_random else "name"
    return t(f"real_layer.{key}", model=safe(loaded.location), layer=loaded.layer)


def own_name(loaded: RealLayer) -> str:
    """The checkpoint's own name alone, as plain text; a long one is cut."""
    name = drawn(loaded.location.rstrip("/").rsplit("/", 1)[-1])
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def title(loaded: RealLayer) -> str:
    """Its own name, safe as Markdown."""
    return safe(own_name(loaded))
