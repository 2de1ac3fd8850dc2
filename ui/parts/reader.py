"""Who reads on a page, and what: whose weights and words these are, and the boxes of texts."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count as numbers
from itertools import islice
from random import Random

import streamlit as st

from mla_engine import mechanisms
from mla_engine.checkpoints.tokens import spelt
from mla_engine.language_model import ModelConfig
from mla_engine.language_model.texts import TASKS, exercise
from ui.parts.control import control
from ui.parts.examples import Examples
from ui.settings import state
from ui.settings.page import Page
from ui.settings.parsers import MOST_CHARACTERS, MOST_WORDS, TRAINED
from ui.settings.server import server
from ui.settings.visit import visit
from ui.sources import Checkpoint, checkpoint, model, trained
from ui.sources.model import Model
from ui.sources.small_model import AS_TRAINED, WITH_MLA
from ui.words.numbers import count
from ui.words.text import refusal, safe, t

SHORT = 24  # words of an example: all of them are drawn in a picture that a hall can read
LIGHT = 2  # of a task's loads, from the lightest
TRIED = 50  # seeds among which the present text is looked for


def choice() -> None:
    """Draw the choice between them where the real model is there, and say whose that is."""
    if not AS_TRAINED.source():
        return
    key = "reader"
    st.session_state[key] = _reader()

    def chosen() -> None:
        if reader := st.session_state[key]:
            _take(reader)

    st.segmented_control(
        t("reader.who"),
        ("real", *(["mla"] if WITH_MLA.source() else []), "made_up"),
        key=key,
        format_func=lambda reader: t(f"reader.{reader}"),
        on_change=chosen,
        help=t("reader.help"),
    )
    if WITH_MLA.reads():
        st.caption(t("reader.of_mla"))
    elif (
        AS_TRAINED.reads() and not visit().page.checkpoints
    ):  # where no line says whose layer it is
        licence()


def _reader() -> str | None:
    """Return which of them reads; None for none."""
    if AS_TRAINED.reads():
        return "real"
    if WITH_MLA.reads():
        return "mla"
    reads = not visit().page.sizes or trained.chosen() is not None
    return "made_up" if reads and not state.source() else None


def _take(reader: str) -> None:
    """Let another one read; that with MLA reads what the real model does on the page."""
    if reader != "mla":
        state.choose_reader(made_up=reader == "made_up")
        return
    if not AS_TRAINED.reads():
        state.choose_reader(made_up=False)
    same = {name: state.settings()[name] for name in state.opening()}
    state.change(source=WITH_MLA.source(), revision="", activations="")
    state.change(**same)  # once they are no longer what the page opens with


def licence() -> None:
    """Say quietly whose the real model is, and that its weights are rounded."""
    st.caption(t("reader.licence"))


def badge() -> None:
    """Say under the title which layer reads, or that weights are random."""
    page = visit().page
    if loaded := checkpoint.chosen():
        _of_checkpoint(loaded)
    elif page.trained and page.sizes:
        _of_trained(page)


def _of_checkpoint(loaded: Checkpoint) -> None:
    found, plan = checkpoint.inputs(loaded), checkpoint.plan(loaded)
    facts = {"tokens": count(len(found.tokens)), "family": plan.family}
    if AS_TRAINED.reads() and not loaded.activations:
        facts |= {"layer": count(loaded.layer), "last": count(plan.n_layers - 1)}
        st.caption(t("checkpoint.badge_own", licence=t("reader.licence"), **facts))
    else:
        facts["fed"] = t(f"checkpoint.from_{found.origin}", layers=count(loaded.layer))
        st.caption(t("checkpoint.badge", name=checkpoint.name(loaded), **facts))
    spelling(found.tokens)


def spelling(tokens: Iterable[str]) -> None:
    """Say why a character takes several rows, where a text has one without a token of its own."""
    for text, n in islice(spelt(tokens).items(), 1):
        st.caption(t("checkpoint.spelt", text=safe(text), n=n))


def _of_trained(page: Page) -> None:
    own = trained.chosen()
    if own is None or page.drawn():
        with st.container(key="seeded", horizontal=True, vertical_alignment="center"):
            st.caption(_seeded(), width="content")
            _way_back()
    elif page.fresh_texts:
        st.caption(t("reader.badge_fresh", layer=own.layer))
    else:
        st.caption(t("reader.badge", layer=own.layer))


def _seeded() -> str:
    """Return the note that weights are random, and why where no trained model has the variant."""
    if not trained.lacking():
        return t("reader.seeded")
    kind = mechanisms.variants()[state.settings()["variant"]].kind
    return t("reader.lacking", variant=kind)


def _way_back() -> None:
    if trained.FIRST in trained.readable():
        label = t("reader.take")
        st.button(label, key="take_trained", type="tertiary", on_click=model.take, args=(TRAINED,))


def layer_beside(shown: Model) -> None:
    """Draw the layer close to a picture: a widget of its own, as a key stands once on a page."""
    if shown.is_trained:
        _trained_beside()
    else:
        _checkpoint_beside(shown.checkpoint)


def _trained_beside() -> None:
    key = "trained_layer_beside"
    st.session_state[key] = state.settings()["trained_layer"]
    st.segmented_control(
        t("reader.layer"),
        range(trained.load(trained.FIRST).config.n_layers),
        key=key,
        format_func=count,
        required=True,
        on_change=lambda: state.change(trained_layer=st.session_state[key]),
    )


def _checkpoint_beside(loaded: Checkpoint) -> None:
    key, last = "layer_beside", checkpoint.plan(loaded).n_layers - 1
    st.session_state[key] = loaded.layer
    taken = {"key": key, "on_change": lambda: state.change(layer=st.session_state[key])}
    label = t("checkpoint.layer", last=last)
    if server().recorded:  # which has every layer at its place
        st.select_slider(label, range(last + 1), **taken)
    else:
        st.number_input(label, min_value=0, max_value=last, **taken)


def sentence(then: Callable[[], object] = lambda: None, own: str = trained.OWN) -> None:
    """Draw the box of the text; one that the models cannot read stays only in the box.

    Args:
        then: runs after a text that they can.
        own: what they read where the box is empty.
    """
    config = trained.load(trained.FIRST).config
    kept = state.settings()["sentence"]
    shown = getattr(kept, "typed", kept)

    def keep(typed: str) -> None:
        good = not _refused(config, typed)
        state.change(sentence=typed if good else state.Kept.beside(kept, typed))
        if good:
            then()

    control(
        "sentence",
        label=t("reader.text", words=count(MOST_WORDS), all=count(len(config.words))),
        shown=shown,
        placeholder=own,
        height=80,
        max_chars=MOST_CHARACTERS,
        help=t("reader.vocabulary", words=safe(" ".join(config.words))),
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
    st.markdown(t("reader.examples"), width="content")
    for task in TASKS:
        label, key = t(f"reader.{task}"), f"example_{task}"
        st.button(label, key=key, on_click=_take_example, args=(task, then))


def _take_example(task: str, then: Callable[[], object]) -> None:
    state.change(sentence=another(task, state.settings()["sentence"]))
    then()


def text(examples: Examples, then: Callable[[], object]) -> None:
    """Draw the box of the text that the app's own real model reads, and the examples below it.

    Args:
        examples: the page's.
        then: runs after another text was typed.
    """
    box(then)
    buttons(examples)


def box(then: Callable[[], object]) -> None:
    """Draw the box of the text that the app's own real model reads; `then` runs after another."""
    label, empty = t("examples.text"), t("checkpoint.example")
    control("text", label=label, placeholder=empty, height=80, then=then)


def buttons(examples: Examples) -> None:
    """Draw a button for each sentence, where the app's own real model reads."""
    if not AS_TRAINED.reads():
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="examples"):
        st.markdown(t("reader.examples"), width="content")
        for name, example in examples.items():
            taken = partial(state.change, activations="", **example.settings)
            label = t(f"examples.example_{name}")
            st.button(label, key=f"example_{name}", on_click=taken)
