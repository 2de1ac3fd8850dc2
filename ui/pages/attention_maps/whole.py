"""A text whose maps are run whole: all heads, one in full, and what is asked about it."""

import html

import streamlit as st

from mla_engine.language_model.answers import Answer, answer
from mla_engine.language_model.texts import FOODS, OPENING, THINGS
from ui.pages.attention_maps import controls, words
from ui.pages.attention_maps.view import View
from ui.parts import maps, prose
from ui.parts.maps import entries
from ui.parts.questions import Question, among, choice
from ui.words.numbers import count
from ui.words.text import t

HEADS_FIRST, WORDS_FIRST = (7, 9, 5), (8, 8, 5)  # the map with its words, where it says most
QUOTED, OFFERED = (
    12,
    4,
)  # words of a sentence that the question has, and words to choose from
KINDS = {  # task -> the words that can be its answer, and whether the sentence must have them
    "recall": (THINGS, True),
    "copy": (FOODS, True),
    "back": (FOODS, True),
    "agreement": (("is", "are"), False),
    "brackets": (tuple(OPENING.values()), False),
}


def title() -> str:
    """Return the title, by the kind of layer."""
    return words.title()


def lead(view: View) -> tuple[str, str]:
    """Return the number and its sentence, by the kind of layer."""
    return words.lead(view)


def look(view: View) -> str:
    """Return the sentence on what to look at."""
    return words.look(view)


def draw(view: View) -> None:
    """Draw all heads and one of them in full, and the controls beside them."""
    words_first = view.trained is not None or view.own
    with st.container(key="beside"):
        *pictures, side = st.columns(WORDS_FIRST if words_first else HEADS_FIRST, gap="medium")
    with side:
        controls.run()
        maps.controls.cell_controls(view.maps.run.words, view.maps.columns)
    heads, one_head = pictures[::-1] if words_first else pictures
    with heads:
        prose.say(maps.words.caption(view.maps))
        maps.charts.thumbnails(view.maps)
    with one_head:
        with st.container(key="framed"):
            prose.say(words.framed(view))
        maps.charts.large(view.maps)
    with st.container():  # of one sentence more or less, lest all below be mounted anew
        for sentence in words.under(view):
            prose.say(sentence)
    maps.controls.listen(view.maps)


def refused(error: ValueError) -> None:
    """Draw in the place of the maps why there are none, and the controls beside."""
    with st.container(key="beside"):
        pictures, side = st.columns([16, 5], gap="medium")
    with side:
        controls.run()
    with pictures:
        prose.refused(error)


def pooled(view: View) -> None:
    """Draw what the columns are made of, where a layer pools keys or entries."""
    if view.maps.run.entries or view.maps.run.blocks:
        kind = "blocks" if view.maps.run.blocks else "entries"
        st.subheader(t(f"maps.{kind}_title"), anchor=False)
        with prose.refusals():
            entries.draw(view.maps)


def question(view: View) -> Question | None:
    """The next word where the sentence decides it; how many cells are not masked elsewhere.

    None of the app's own real model: nothing in a text decides what its head looks at.
    """
    if view.own:
        return None
    return _next(view.maps.run.words) if view.trained else _cells(view)


def _next(words: tuple[str, ...]) -> Question | None:
    """The word that must come; None where the words leave it open, or ask for the only one."""
    found = answer(words)
    offered = _offered(words, found) if found else []
    if len(offered) < 2:
        return None
    text = ("… " if len(words) > QUOTED else "") + " ".join(words[-QUOTED:])
    return choice(
        "attention_maps_next",
        t("attention_maps.guess_next", text=html.escape(text)),
        offered,
        offered.index(found.word),
        why=t(f"attention_maps.guess_{found.task}", word=found.word, last=words[-1]),
        hides=("lead", "framed"),
    )


def _offered(words: tuple[str, ...], found: Answer) -> list[str]:
    """The right word among others that could be meant, the last ones of the sentence."""
    kind, there = KINDS[found.task]
    if not there:
        return list(kind)
    others = [word for word in dict.fromkeys(words[::-1]) if word in kind and word != found.word]
    tempting = {found.word, *others[: OFFERED - 1]}
    return [word for word in dict.fromkeys(words) if word in tempting]


def _cells(view: View) -> Question | None:
    """Ask how many cells are not masked; None with entries, or with too little to choose among."""
    if view.maps.run.sinks:
        return None
    mask, n = view.maps.mask, len(view.maps.run.words)
    cells = (n, n * (n - 1) // 2, n * (n + 1) // 2, n * n)
    numbers, right = among([cell for cell in cells if cell], int(mask.sum()))
    if len(numbers) < len(cells):
        return None
    run = view.maps.run
    choosing = "blocks" if run.blocks else "choice"
    fewer = choosing if run.config.chooses_keys else "window"
    why = "all" if mask.all() else "causal" if numbers[right] == cells[2] else fewer
    return choice(
        "attention_maps",
        t("attention_maps.guess", n=count(n), all=count(n * n)),
        [count(number) for number in numbers],
        right,
        why=t(f"attention_maps.guess_{why}"),
    )
