"""A real checkpoint in the place of seeded weights: the reader's choice and what it brings.

Pages that can use one begin with `page.setup(..., source=ANY)`; on the others the choice rests.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from mla_engine import GroupedConfig, checkpoints
from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import Checkpoint, Plan, describe, open_checkpoint
from ui import state
from ui.folders import APP, inside, readable
from ui.text import count, safe, size, t

ANY, LATENT = "any", "latent"  # what a page can use
MOST_TOKENS, LONGEST_NAME = 512, 40  # so that maps can be drawn, and a title read
DEMO = "models/demo"
EXAMPLE = "deepseek-ai/DeepSeek-V2-Lite"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


@dataclass(frozen=True)
class Loaded:
    """One attention layer of a checkpoint and a text: stands where a seed stands otherwise."""

    source: str
    revision: str
    layer: int
    text: str = ""
    activations: str = ""  # a file with the layer's inputs, in the place of the text

    @property
    def weights(self) -> "Loaded":
        """The same for any text."""
        return replace(self, text="", activations="")


Origin = int | Loaded  # a seed, or a real layer


def chosen() -> Loaded | None:
    """What the settings name, on a page that can use it and where it could be read."""
    return None if st.session_state.get("source_failed") else _named()


def _named() -> Loaded | None:
    s = state.settings()
    if not (s["source"] and st.session_state.get("uses_source")):
        return None
    text = s["text"] or t("source.example")
    return Loaded(s["source"], s["revision"], s["layer"], text, s["activations"])


@st.cache_resource(max_entries=16, ttl=600, show_spinner=False)
def _opened(where: str | Path, revision: str) -> Checkpoint:
    return open_checkpoint(where, revision or None)


def checkpoint(loaded: Loaded) -> Checkpoint:
    """The checkpoint, its config and index read.

    Raises:
        CheckpointError: it cannot be read, with the reason.
    """
    name = loaded.source
    on_hub = HUB_NAME.fullmatch(name) and not (APP / name).is_dir()
    return _opened(name if on_hub else inside(name), loaded.revision)


@st.cache_data(max_entries=64, show_spinner=False)
def _plan(where: Loaded, _checkpoint: Checkpoint) -> Plan:
    return describe(_checkpoint, where.layer)


def plan(loaded: Loaded) -> Plan:
    """What the layer is and how many bytes it takes to read.

    Raises:
        CheckpointError: a layer that cannot be read, with the reason.
    """
    return _plan(loaded.weights, checkpoint(loaded))


@st.cache_resource(max_entries=8, show_spinner=False)
def _inputs(loaded: Loaded, _checkpoint: Checkpoint) -> "checkpoints.HiddenStates":
    activations = inside(loaded.activations) if loaded.activations else None
    return checkpoints.hidden_states(
        _checkpoint, loaded.text, loaded.layer, activations=activations
    )


def inputs(loaded: Loaded) -> "checkpoints.HiddenStates":
    """What enters the layer: h [1,t,d] and its tokens as the model's own tokenizer cuts them.

    Raises:
        CheckpointError, MemoryBudgetError: no tokenizer, a text over the limit, a layer too deep.
    """
    return _inputs(loaded, checkpoint(loaded))


def prepare() -> list[state.Note]:
    """Before anything is drawn: bring the layer within the model, read what is not at hand yet.

    What fails here is told by `failure`, and the page goes on with seeded weights.
    """
    st.session_state.source_failed = None
    loaded = _named()
    if loaded is None:
        return []
    try:
        notes = state.at_most(layer=plan(replace(loaded, layer=0)).n_layers - 1)
        _fetch(_named())
        _check(_named())
    except ValueError as error:
        st.session_state.source_failed = error
        return []
    return notes


def failure() -> None:
    """Above the title: why the real layer could not be read, and what is shown instead."""
    if failed := st.session_state.source_failed:
        reason, named = safe(_reason(failed)), safe(state.settings()["source"])
        told = t("source.failed", source=named, reason=reason)
        seeded = t("source.seeded") if st.session_state.with_sizes else ""
        st.error(f"{told} {seeded}", icon=":material/block:")
        if _too_deep(failed):
            st.button(t("source.first_layer"), on_click=state.change, kwargs={"layer": 0})


def _too_deep(failed: ValueError) -> bool:
    """Whether the layers before the chosen one are what does not fit."""
    return isinstance(failed, MemoryBudgetError) and not state.settings()["activations"]


def _reason(failed: ValueError) -> str:
    if not _too_deep(failed):
        return str(failed)
    needed, limit = size(failed.needed_bytes), size(failed.limit_bytes)
    return t("source.too_deep", layer=state.settings()["layer"], needed=needed, limit=limit)


def _check(loaded: Loaded) -> None:
    """Raise ValueError where this page cannot show the layer or the text."""
    if st.session_state.uses_source == LATENT and isinstance(plan(loaded).config, GroupedConfig):
        raise ValueError(t("source.no_latent"))
    if (given := len(inputs(loaded).tokens)) > MOST_TOKENS:
        raise ValueError(t("source.too_many", given=count(given), most=count(MOST_TOKENS)))


@st.cache_resource(show_spinner=False)
def _at_hand() -> set[Loaded]:
    """The layers of the Hub whose bytes lie in its cache on this server."""
    return set()


def _fetch(loaded: Loaded) -> None:
    """Read what a run will need, with progress; a change of any widget stops it in between."""
    found, origin = plan(loaded), checkpoint(loaded)
    if not (origin.is_local or loaded.weights in _at_hand()):
        told = t("source.reading", size=size(found.n_bytes), name=loaded.source)
        bar = st.progress(0.0, told)
        origin.read(found.tensors, lambda done, total: bar.progress(done / max(total, 1), told))
        bar.empty()
        _at_hand().add(loaded.weights)
    with st.spinner(t("source.preparing", layer=loaded.layer), show_time=True):
        inputs(loaded)


def name(loaded: Loaded) -> str:
    """The checkpoint and its layer in a few words, safe as Markdown."""
    key = "name_random" if checkpoint(loaded).is_random else "name"
    return t(f"source.{key}", source=safe(loaded.source), layer=loaded.layer)


def own_name(loaded: Loaded) -> str:
    """The checkpoint's own name alone, as plain text; a long one is cut."""
    name = loaded.source.rstrip("/").rsplit("/", 1)[-1]
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def title(loaded: Loaded) -> str:
    """The same, safe as Markdown."""
    return safe(own_name(loaded))


def badge() -> None:
    """Under the title: whose weights and whose words these are."""
    if loaded := chosen():
        found = inputs(loaded)
        facts = {"tokens": count(len(found.tokens)), "family": plan(loaded).family}
        facts["fed"] = t(f"source.from_{found.origin}", layers=count(loaded.layer))
        st.caption(t("source.badge", name=name(loaded), **facts))


def demo_button() -> None:
    """One step to the demonstration model, where this server has it."""
    folder = APP / DEMO
    if folder.is_dir() and readable(folder):
        first = {"source": DEMO, "revision": "", "layer": 0, "activations": ""}
        st.button(t("source.demo"), on_click=state.change, kwargs=first)


def controls(*, own_place: bool = False) -> None:
    """The checkpoint, its revision, layer and text, and the way back.

    In the sidebar, or open in a place of its own, beside which the page offers the demonstration.
    """
    s = state.settings()
    with st.expander(t("source.title"), expanded=own_place or bool(s["source"])):
        state.control(st.text_input, t("source.source"), "source", placeholder=EXAMPLE)
        if s["source"]:
            _choices()
            return
        if not own_place:
            demo_button()
        st.caption(t("source.what"))


def _planned() -> Plan | None:
    """The plan of what is named, also where it cannot be shown; None if there is none."""
    try:
        return plan(_named())
    except ValueError:
        return None


def _choices() -> None:
    if found := _planned():
        st.caption(t("source.plan", family=found.family, size=size(found.n_bytes)))
        for note in found.notes:
            st.caption(t(f"source.note_{note.replace(' ', '_')}", **_limits(found)))
        last = found.n_layers - 1
        state.control(st.number_input, t("source.layer", last=last), "layer", 0, last)
    state.control(st.text_input, t("source.revision"), "revision", placeholder="main")
    example = t("source.example")
    state.control(st.text_area, t("source.text"), "text", placeholder=example, height=100)
    state.control(st.text_input, t("source.activations"), "activations")
    own = dict.fromkeys(("source", "revision", "text", "activations"), "")
    st.button(t("source.leave"), on_click=state.change, kwargs=own | {"layer": 0})


def _limits(found: Plan) -> dict[str, str]:
    """What a note counts, where the layer has it."""
    names = ("position_limit", "sliding_window")
    return {name: count(getattr(found.config, name, None) or 0) for name in names}
