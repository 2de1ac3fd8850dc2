"""The atlas where it can be drawn; elsewhere a sentence on why not, or the button that begins."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import streamlit as st

from mla_engine import budget
from mla_engine.checkpoints import Plan
from ui.parts import prose
from ui.parts.atlas.found import Found, joined, parts
from ui.parts.atlas.picture import NAME, NARROW, open_head
from ui.parts.pieces import reach, with_bar
from ui.settings import state
from ui.settings.page import those
from ui.sources import Checkpoint, checkpoint, whole
from ui.words.numbers import count, size
from ui.words.text import t


def all_heads(loaded: Checkpoint, s: SimpleNamespace) -> Found | None:
    """Return what all heads of a model do on the text; None where a sentence said why not.

    A model that is not the app's own is read layer by layer, when that is asked for.

    Args:
        loaded: a layer of the model, and the text.
        s: the settings of Real models, as a page hands them in, by their short names.

    Raises:
        CheckpointError, MemoryBudgetError, FullError: as `checkpoint.inputs`.
    """
    plan = checkpoint.plan(loaded)
    if not _are_alike(plan) or plan.config.sinks:
        prose.note(t("atlas.mixed"))
        return None
    if loaded.activations:
        prose.note(t("pieces.text"))
    first, limit = replace(loaded, layer=0, activations=""), budget.limit_bytes()
    within = reach(first, limit)
    if within.next_bytes is not None:
        sizes = {"needed": size(within.next_bytes), "limit": size(limit)}
        prose.note(t("pieces.left", first=count(within.layers), **sizes))
    if not (whole.held(checkpoint.place(first).folder) or s.layers):
        prose.note(t("pieces.read", size=size(within.read_bytes)))
        begin = partial(state.change, real_layers=True)
        st.button(t("atlas.begin"), on_click=begin, icon=":material/grid_on:")
        return None
    every = with_bar(parts(first, within.layers), st.empty(), t("atlas.running"))
    found = joined(first, list(every))
    if not found.here.kinds:
        prose.note(t("atlas.short"))
        return None
    return found


def _are_alike(plan: Plan) -> bool:
    """Tell whether all layers are of one mechanism, whose heads look at every token before."""
    of_layers = set(plan.mechanisms)  # "" of what is not modelled
    return len(of_layers) == 1 and of_layers <= {*those(lambda kind: kind.reads_all)}


def drawn(loaded: Checkpoint) -> Found:
    """Return what the picture is drawn of, without drawing: for what a press asks."""
    first = replace(loaded, layer=0, activations="")
    n_layers = reach(first, budget.limit_bytes()).layers
    return joined(first, [part for part, _ in parts(first, n_layers)])


def clicks(loaded: Checkpoint, s: SimpleNamespace) -> dict[str, Callable[[dict], None]]:
    """Return what takes a click on the picture as it is drawn with these settings."""
    return {
        name: lambda cell, narrow=name == NARROW: open_head(drawn(loaded), s, cell, narrow=narrow)
        for name in (NAME, NARROW)
    }
