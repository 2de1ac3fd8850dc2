"""The choice of a checkpoint's layer, and why one cannot be read."""

import streamlit as st

from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import Plan
from ui.engine.folders import is_folder
from ui.parts.control import control
from ui.settings import state
from ui.settings.state import opened_with
from ui.settings.visit import visit
from ui.sources import checkpoint
from ui.sources.small_model import AS_TRAINED
from ui.words.numbers import count, size
from ui.words.text import refusal, safe, t

DEMO = "models/demo"
EXAMPLE = "deepseek-ai/DeepSeek-V2-Lite"


def failure() -> None:
    """Say above the title why the real layer could not be read, and what is shown instead."""
    if failed := visit().failed:
        reason, named = safe(_reason(failed)), safe(checkpoint.named().location)
        told = t("checkpoint.failed", model=named, reason=reason)
        instead = visit().page.sizes and not (AS_TRAINED.reads() and visit().page.opens())
        seeded = t("checkpoint.seeded") if instead else ""
        st.error(f"{told} {seeded}", icon=":material/block:")
        if (other := _other(failed)) is not None:
            told = t("checkpoint.other_layer", layer=count(other))
            st.button(told, on_click=state.change, kwargs={"layer": other})


def _other(failed: ValueError) -> int | None:
    """Return the layer to choose instead, where one can be told."""
    if getattr(failed, "code", "") in ("no_page_of_layer", "not_here_of_layer"):
        return failed.values["other"]
    return 0 if _too_deep(failed) else None


def _too_deep(failed: ValueError) -> bool:
    """Tell whether the layers before the chosen one are what does not fit."""
    if not isinstance(failed, MemoryBudgetError):
        return False
    return getattr(failed.values["what"], "code", "") == "input_of_layer"


def _reason(failed: ValueError) -> str:
    if not isinstance(failed, MemoryBudgetError):
        return refusal(failed)
    sizes = {"needed": size(failed.needed_bytes), "limit": size(failed.limit_bytes)}
    if _too_deep(failed):
        return t("checkpoint.too_deep", layer=state.settings()["layer"], **sizes)
    return t("checkpoint.too_large", **sizes)


def demo_button() -> None:
    """Draw a button that takes the demonstration model, where this server has it."""
    if is_folder(DEMO):
        first = {"source": DEMO, "revision": "", "layer": 0, "activations": ""}
        st.button(t("checkpoint.demo"), on_click=state.change, kwargs=first)


def controls(*, own_place: bool = False) -> None:
    """Draw the checkpoint, its revision, layer and text, and the way back.

    Behind the model's chip, or open in a place of its own, beside which the page offers the
    demonstration.
    """
    loaded = checkpoint.named()
    with st.expander(t("checkpoint.title"), expanded=own_place or loaded is not None):
        control("source", placeholder=opened_with().get("source", EXAMPLE))
        if loaded:
            _choices(own_place=own_place)
            return
        if not own_place:  # which says it beside
            demo_button()
            st.caption(t("checkpoint.what"))


def _planned() -> Plan | None:
    """Return the plan of what is named, also where it cannot be shown; None without one."""
    try:
        return checkpoint.plan(checkpoint.named())
    except ValueError:
        return None


def _choices(*, own_place: bool) -> None:
    if found := _planned():
        if not AS_TRAINED.reads():  # of which the page says it
            st.caption(t("checkpoint.plan", family=found.family, size=size(found.n_bytes)))
            for note in found.notes:
                st.caption(t(f"checkpoint.note_{note.replace(' ', '_')}", **_limits(found)))
        _layer(found)
    control("revision", placeholder="main")
    if own_place or not (AS_TRAINED.reads() and visit().page.opens()):  # with a box of its own
        control("text", placeholder=t("checkpoint.example"), height=100)
    control("activations")
    if state.settings()["source"]:  # and not what the page opens with
        own = dict.fromkeys(("source", "revision", "text", "activations"), "")
        st.button(t("checkpoint.leave"), on_click=state.change, kwargs=own | {"layer": 0})


def _layer(found: Plan) -> None:
    """Draw the choice of the layer by its number, in a model of several kinds with its kind."""
    last = found.n_layers - 1
    label = t("checkpoint.layer", last=last)
    if len(set(found.kinds)) == 1:
        control("layer", widget="number_input", label=label, most=last)
        return
    named = [f"{n} · {kind or t('checkpoint.no_kind')}" for n, kind in enumerate(found.kinds)]
    control("layer", label=label, options=range(found.n_layers), write=named.__getitem__)


def _limits(found: Plan) -> dict[str, str]:
    """Return the values of a note, where the layer has them."""
    names = ("position_limit", "sliding_window")
    return {name: count(found.config.size(name) or 0) for name in names}
