"""The choice of a real layer, the line that says whose it is, and why one cannot be read."""

from collections.abc import Iterable
from itertools import islice

import streamlit as st

from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import Plan
from mla_engine.checkpoints.tokens import spelt
from ui.engine import real_layer, real_model
from ui.engine.folders import is_folder
from ui.engine.real_layer import RealLayer
from ui.parts.control import control
from ui.settings import state
from ui.settings.opening import opened_with
from ui.settings.server import server
from ui.settings.visit import visit
from ui.words.numbers import count, size
from ui.words.text import refusal, safe, t

DEMO = "models/demo"
EXAMPLE = "deepseek-ai/DeepSeek-V2-Lite"


def failure() -> None:
    """Say above the title why the real layer could not be read, and what is shown instead."""
    if failed := visit().failed:
        reason, named = safe(_reason(failed)), safe(real_layer.named().location)
        told = t("real_layer.failed", model=named, reason=reason)
        instead = visit().page.sizes and not (real_model.reads() and visit().page.opens())
        seeded = t("real_layer.seeded") if instead else ""
        st.error(f"{told} {seeded}", icon=":material/block:")
        if (other := _other(failed)) is not None:
            told = t("real_layer.other_layer", layer=count(other))
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
        return t("real_layer.too_deep", layer=state.settings()["layer"], **sizes)
    return t("real_layer.too_large", **sizes)


def badge() -> None:
    """Draw under the title whose weights and whose words these are."""
    if loaded := real_layer.chosen():
        found, plan = real_layer.inputs(loaded), real_layer.plan(loaded)
        facts = {"tokens": count(len(found.tokens)), "family": plan.family}
        if real_model.reads() and not loaded.activations:
            facts |= {"layer": count(loaded.layer), "last": count(plan.n_layers - 1)}
            st.caption(t("real_layer.badge_own", licence=t("reader.licence"), **facts))
        else:
            facts["fed"] = t(f"real_layer.from_{found.origin}", layers=count(loaded.layer))
            st.caption(t("real_layer.badge", name=real_layer.name(loaded), **facts))
        spelling(found.tokens)


def spelling(tokens: Iterable[str]) -> None:
    """Say why a character takes several rows, where a text has one without a token of its own."""
    for text, n in islice(spelt(tokens).items(), 1):
        st.caption(t("real_layer.spelt", text=safe(text), n=n))


def demo_button() -> None:
    """Draw a button that takes the demonstration model, where this server has it."""
    if is_folder(DEMO):
        first = {"source": DEMO, "revision": "", "layer": 0, "activations": ""}
        st.button(t("real_layer.demo"), on_click=state.change, kwargs=first)


def controls(*, own_place: bool = False) -> None:
    """Draw the checkpoint, its revision, layer and text, and the way back.

    Behind the model's chip, or open in a place of its own, beside which the page offers the
    demonstration.
    """
    loaded = real_layer.named()
    with st.expander(t("real_layer.title"), expanded=own_place or loaded is not None):
        control("source", placeholder=opened_with().get("source", EXAMPLE))
        if loaded:
            _choices(own_place=own_place)
            return
        if not own_place:  # which says it beside
            demo_button()
            st.caption(t("real_layer.what"))


def _planned() -> Plan | None:
    """Return the plan of what is named, also where it cannot be shown; None without one."""
    try:
        return real_layer.plan(real_layer.named())
    except ValueError:
        return None


def _choices(*, own_place: bool) -> None:
    if found := _planned():
        if not real_model.reads():  # of which the page says it
            st.caption(t("real_layer.plan", family=found.family, size=size(found.n_bytes)))
            for note in found.notes:
                st.caption(t(f"real_layer.note_{note.replace(' ', '_')}", **_limits(found)))
        _layer(found)
    control("revision", placeholder="main")
    if own_place or not (real_model.reads() and visit().page.opens()):  # with a box of its own
        control("text", placeholder=t("real_layer.example"), height=100)
    control("activations")
    if state.settings()["source"]:  # and not what the page opens with
        own = dict.fromkeys(("source", "revision", "text", "activations"), "")
        st.button(t("real_layer.leave"), on_click=state.change, kwargs=own | {"layer": 0})


def _layer(found: Plan) -> None:
    """Draw the choice of the layer by its number, in a model of several kinds with its kind."""
    last = found.n_layers - 1
    label = t("real_layer.layer", last=last)
    if len(set(found.kinds)) == 1:
        control("layer", widget="number_input", label=label, most=last)
        return
    named = [f"{n} · {kind or t('real_layer.no_kind')}" for n, kind in enumerate(found.kinds)]
    control("layer", label=label, options=range(found.n_layers), write=named.__getitem__)


def layer_beside(loaded: RealLayer) -> None:
    """Draw the layer close to a picture: a widget of its own, as a key stands once on a page."""
    key, last = f"layer_beside:{state.settings()['lang']}", real_layer.plan(loaded).n_layers - 1
    st.session_state[key] = loaded.layer
    taken = {"key": key, "on_change": lambda: state.change(layer=st.session_state[key])}
    label = t("real_layer.layer", last=last)
    if server().recorded:  # which has every layer at its place
        st.select_slider(label, range(last + 1), **taken)
    else:
        st.number_input(label, min_value=0, max_value=last, **taken)


def _limits(found: Plan) -> dict[str, str]:
    """Return the values of a note, where the layer has them."""
    names = ("position_limit", "sliding_window")
    return {name: count(getattr(found.config, name, None) or 0) for name in names}
