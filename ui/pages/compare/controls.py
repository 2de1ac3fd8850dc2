"""The choice of both sides: pickers, a model of the reader's own, the sizes typed above."""

from functools import partial

import streamlit as st

from mla_engine import PRESETS
from ui.pages.compare.side import OWN, SHARED_SIZES, SIDES, above, keys, served, wanted_of
from ui.parts import given, prose
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import SMALL, is_own, preset_of
from ui.settings.server import server
from ui.settings.visit import visit
from ui.sources import checkpoint
from ui.sources import given as engine
from ui.sources.model import present, preset_name
from ui.words.numbers import count
from ui.words.text import safe, t


def sides() -> None:
    """Draw the pickers of each side's model and variant."""
    models, variants = _models(), _variants()
    with st.container(key="compare_choices"):
        places = st.columns(2, gap="large")
    for place, (letter, name) in zip(places, SIDES.items(), strict=True):
        key, variant = place.columns((5, 4))
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
    loaded, trained = checkpoint.chosen(), present().is_trained
    ours = t("compare.shared_trained" if trained else "compare.shared")
    shared = checkpoint.own_name(loaded) if loaded else ours
    chosen = above(), *keys()
    every = dict.fromkeys((SMALL, *PRESETS, *filter(is_own, chosen)))
    return {SHARED_SIZES: shared} | {key: preset_name(key) for key in every}


def _variants() -> dict[str, str]:
    """Return the variants that a side can be shown as, with their names."""
    variants = visit().page.variants
    return {OWN: t("compare.own")} | {code: t(f"common.{code}") for code in variants}


def give() -> None:
    """Draw a quiet button that opens the ways to give a side."""
    with st.popover(t("compare.given"), icon=":material/tune:", key="compare_given"):
        for letter, key in zip(SIDES, keys(), strict=True):
            if is_own(key):
                st.caption(_told(letter, key))
        takers = {t("compare.given_as", letter=one): partial(_take, one) for one in SIDES}
        if not server().recorded:
            given.form("compare_model", takers)
        _sizes()


def _told(letter: str, key: str) -> str:
    """Return which layer of a reader's own model a side shows."""
    found = preset_of(key)
    numbers = {"layer": count(found.layer), "layers": count(found.n_layers)}
    return t("compare.given_shown", letter=letter, name=safe(found.name), **numbers)


def _take(letter: str, key: str, variant: str = OWN) -> None:
    """Show a model on one side, by default with its own attention."""
    state.change(**{SIDES[letter]: key, f"{SIDES[letter]}_as": variant})


def _sizes() -> None:
    """Draw buttons that keep the sizes above for one side, whatever is typed there afterwards."""
    shown = present()
    if shown.checkpoint or shown.is_trained:
        st.caption(t("compare.keep_none"))
        return
    st.caption(t("compare.keep"))
    said = st.container()  # above the buttons, where the reader looks
    with st.container(horizontal=True):
        pressed = [one for one in SIDES if st.button(t("compare.keep_as", letter=one))]
    with said:
        for letter in pressed:
            _keep(letter)


def _keep(letter: str) -> None:
    """Keep them in the attention that the side is shown with; what cannot be changes nothing."""
    shown, (_, wanted) = present(), wanted_of(letter)
    variant = served(shown.variant) if wanted == OWN else wanted
    try:
        key = engine.key_of_sizes(shown, variant)
    except ValueError as refusal:
        prose.refused(refusal)
        return
    _take(letter, key, variant)
    st.rerun()
