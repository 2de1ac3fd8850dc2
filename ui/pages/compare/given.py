"""A side of the reader's own: a model by its config.json, or the sizes that are typed above."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from ui.engine import own_model as engine
from ui.engine.model import Model
from ui.pages.compare.view import OWN, served
from ui.parts import own_model, prose
from ui.settings.parsers import is_own, preset_of
from ui.words.numbers import count
from ui.words.text import safe, t

Sides = Mapping[str, tuple[str, str]]  # letter -> what its sizes are of, what it is shown with
Take = Callable[[str, str, str], None]  # shows a model on the side of this letter, with a variant


def draw(sides: Sides, shown: Model, take: Take) -> None:
    """A quiet button that opens the ways to give a side."""
    with st.popover(t("compare.given"), icon=":material/tune:", key="compare_given"):
        for letter, (key, _) in sides.items():
            if is_own(key):
                st.caption(_told(letter, key))
        takers = {_label("given_as", one): partial(_with_its_own, take, one) for one in sides}
        own_model.form("compare_model", takers)
        _sizes(sides, shown, take)


def _told(letter: str, key: str) -> str:
    """Return which layer of a reader's own model a side shows."""
    found = preset_of(key)
    numbers = {"layer": count(found.layer), "layers": count(found.n_layers)}
    return t("compare.given_shown", letter=letter, name=safe(found.name), **numbers)


def _label(name: str, letter: str) -> str:
    return t(f"compare.{name}", letter=letter)


def _with_its_own(take: Take, letter: str, key: str) -> None:
    """Show a model with its own attention."""
    take(letter, key, OWN)


def _sizes(sides: Sides, shown: Model, take: Take) -> None:
    """Buttons that keep the sizes above for one side, whatever is typed there afterwards."""
    if shown.layer or shown.trained is not None:
        st.caption(t("compare.keep_none"))
        return
    st.caption(t("compare.keep"))
    said = st.container()  # above the buttons, where the reader looks
    with st.container(horizontal=True):
        pressed = [letter for letter in sides if st.button(_label("keep_as", letter))]
    with said:
        for letter in pressed:
            _keep(letter, sides[letter][1], shown, take)


def _keep(letter: str, wanted: str, shown: Model, take: Take) -> None:
    """Keep them in the attention that the side is shown with; what cannot be changes nothing."""
    variant = served(shown.variant) if wanted == OWN else wanted
    try:
        key = engine.key_of_sizes(shown, variant)
    except ValueError as refusal:
        prose.refused(refusal)
        return
    take(letter, key, variant)
    st.rerun()
