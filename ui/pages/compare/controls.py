"""The controls of the comparison."""

from contextlib import nullcontext

import streamlit as st

from mla_engine import PRESETS
from ui.engine import model, real_layer
from ui.pages.compare import given
from ui.pages.compare.settings import SHARED_SIZES
from ui.pages.compare.view import OWN, SIDES, View, mend, most_tokens
from ui.parts import prose, trained_layer
from ui.parts.control import control
from ui.parts.maps.controls import text_controls
from ui.settings import state
from ui.settings.parsers import SMALL, is_own
from ui.settings.sizes import LENGTHS
from ui.settings.visit import visit
from ui.words.text import t


def sides() -> None:
    """Model and variant of each side."""
    models, variants = _models(), _variants()
    with st.container(key="compare_choices"):
        places = st.columns(2, gap="large")
    for place, (letter, name) in zip(places, SIDES.items(), strict=True):
        key, variant = place.columns((3, 2))
        with key:
            label = t("compare.model", letter=letter)
            control(name, label=label, options=list(models), write=models.__getitem__)
        with variant:
            control(
                f"{name}_as",
                label=t("compare.variant", letter=letter),
                options=list(variants),
                write=variants.__getitem__,
            )


def _models() -> dict[str, str]:
    """Return the models whose sizes a side can have, with their names."""
    loaded, trained = real_layer.chosen(), model.present().trained is not None
    ours = t("compare.shared_trained" if trained else "compare.shared")
    shared = real_layer.own_name(loaded) if loaded else ours
    chosen = (state.settings()[name] for name in ("preset", *SIDES.values()))
    every = dict.fromkeys((SMALL, *PRESETS, *filter(is_own, chosen)))
    return {SHARED_SIZES: shared} | {key: model.preset_name(key) for key in every}


def _variants() -> dict[str, str]:
    """Return the variants that a side can be shown as, with their names."""
    variants = visit().page.variants
    return {OWN: t("compare.own")} | {code: t(f"common.{code}") for code in variants}


def below(view: View | None) -> None:
    """Draw the choice of the topic, if there is any, and the way to give a model to a side."""
    with st.container(key="compare_below", horizontal=True, vertical_alignment="center"):
        if view:
            control("vs_view", shown=view.topic, label_visibility="collapsed")
        s = state.settings()
        sides = {letter: (s[name], s[f"{name}_as"]) for letter, name in SIDES.items()}
        given.draw(sides, model.present(), _take)


def _take(letter: str, key: str, variant: str) -> None:
    """Show a model on one side."""
    state.change(**{SIDES[letter]: key, f"{SIDES[letter]}_as": variant})


def context() -> None:
    """The tokens whose cache and costs are compared."""
    control("vs_context", options=[n for n in LENGTHS if n <= most_tokens()])


def maps(view: View) -> None:
    """Attention or logits, the head, and the text that is read."""
    what, text, more = st.columns(3, gap="large") if view.trained else [nullcontext()] * 3
    with what:
        if view.linear:
            prose.note(t("compare.no_logits"))
        else:
            control("vs_map")
        _head(view)
    with text:
        text_controls(state.chosen("attention_maps"), mend)
    with more:
        if view.model.trained is not None:
            trained_layer.layer_beside()
            trained_layer.examples_row()


def _head(view: View) -> None:
    last = max(side.config.n_heads for side in view.sides) - 1
    if last:
        control("vs_head", most=last)
