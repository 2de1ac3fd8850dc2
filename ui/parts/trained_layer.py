"""The choice of a trained layer and of the sentence that it reads, and the line about both."""

from collections.abc import Callable
from itertools import count as numbers
from random import Random

import streamlit as st

from mla_engine import mechanisms
from mla_engine.language_model import ModelConfig
from mla_engine.language_model.texts import TASKS, exercise
from ui.engine import model, real_layer, trained, trained_layer
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import MOST_CHARACTERS, MOST_WORDS, TRAINED
from ui.settings.visit import visit
from ui.words.numbers import count
from ui.words.text import refusal, safe, t

SHORT = 24  # words of an example: all of them are drawn in a picture that a hall can read
LIGHT = 2  # of a task's loads, from the lightest
TRIED = 50  # seeds among which the present text is looked for


def badge() -> None:
    """Say under the title which layer reads, or that weights are random."""
    layer, page = trained_layer.chosen(), visit().page
    if not (page.trained and page.sizes) or real_layer.chosen():
        return
    if layer is None or page.drawn():
        with st.container(key="seeded", horizontal=True, vertical_alignment="center"):
            st.caption(_seeded(), width="content")
            _way_back()
    elif page.fresh_texts:
        st.caption(t("trained_layer.badge_fresh", layer=layer))
    else:
        st.caption(t("trained_layer.badge", layer=layer))


def _seeded() -> str:
    """Return the note that weights are random, and why where no trained model has the variant."""
    if not trained_layer.lacking():
        return t("trained_layer.seeded")
    kind = mechanisms.variants()[state.settings()["variant"]].kind
    return t("trained_layer.lacking", variant=kind)


def _way_back() -> None:
    if trained_layer.FIRST in trained.readable():
        label = t("trained_layer.take")
        st.button(label, key="take_trained", type="tertiary", on_click=model.take, args=(TRAINED,))


def layer_control() -> None:
    """Draw the choice of the trained models' layer."""
    st.caption(t("trained_layer.what"))
    control("trained_layer", options=range(trained.load(trained_layer.FIRST).config.n_layers))


def layer_beside() -> None:
    """Draw the same close to a picture: a widget of its own, as a key stands once on a page."""
    key = f"trained_layer_beside:{state.settings()['lang']}"
    st.session_state[key] = state.settings()["trained_layer"]
    st.segmented_control(
        t("trained_layer.layer"),
        range(trained.load(trained_layer.FIRST).config.n_layers),
        key=key,
        format_func=count,
        required=True,
        on_change=lambda: state.change(trained_layer=st.session_state[key]),
    )


def sentence(then: Callable[[], object] = lambda: None, own: str = trained.OWN) -> None:
    """Draw the box of the text; one that the models cannot read stays only in the box.

    Args:
        then: runs after a text that they can.
        own: what they read where the box is empty.
    """
    config = trained.load(trained_layer.FIRST).config
    kept = state.settings()["sentence"]
    shown = getattr(kept, "typed", kept)

    def keep(typed: str) -> None:
        good = not _refused(config, typed)
        state.change(sentence=typed if good else state.Kept.beside(kept, typed))
        if good:
            then()

    control(
        "sentence",
        label=t("trained_layer.text", words=count(MOST_WORDS), all=count(len(config.words))),
        shown=shown,
        placeholder=own,
        height=80,
        max_chars=MOST_CHARACTERS,
        help=t("trained_layer.vocabulary", words=safe(" ".join(config.words))),
        keep=keep,
    )
    if reason := _refused(config, shown):
        st.error(t("common.refused", reason=safe(reason)), icon=":material/block:")


def _refused(config: ModelConfig, typed: str) -> str:
    """Return why the models cannot read a text; empty if they can."""
    try:
        trained.tokens(config, typed)
    except ValueError as error:
        return refusal(error)
    return ""


def example(task: str, seed: int) -> str:
    """Return a text of one task that ends before an answer: the next word is determined."""
    random = Random(f"{task}/{seed}")
    text = exercise(random, task, random.choice(TASKS[task].loads[:LIGHT]))
    answers = [place for place, word in enumerate(text) if word.distance]
    near = [place for place in answers if place <= SHORT] or answers[:1]
    return " ".join(word.word for word in text[: random.choice(near)])


def another(task: str, text: str) -> str:
    """Return the first example of a task, or the one after `text` where that is one."""
    found = (seed for seed in range(TRIED) if example(task, seed) == text)
    later = numbers(next(found, -1) + 1)
    return next(one for one in (example(task, seed) for seed in later) if one != text)


def examples_row(then: Callable[[], object] = lambda: None) -> None:
    """Draw the buttons of examples in a row of their own."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="examples"):
        examples(then)


def examples(then: Callable[[], object]) -> None:
    """Draw a button for each task, which takes an example of it: another one at every press.

    Args:
        then: runs after it.
    """
    st.markdown(t("sentences.examples"), width="content")
    for task in TASKS:
        label, key = t(f"sentences.{task}"), f"example_{task}"
        st.button(label, key=key, on_click=_take, args=(task, then))


def _take(task: str, then: Callable[[], object]) -> None:
    state.change(sentence=another(task, state.settings()["sentence"]))
    then()
