"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from."""

import streamlit as st

from ui.frame import page
from ui.pages.attention_maps import PAGE, below, controls, guess, long, words
from ui.pages.attention_maps import view as views
from ui.pages.attention_maps.over_time import scene
from ui.parts import maps, prose, questions
from ui.words.text import t

HEADS_FIRST, WORDS_FIRST = (7, 9, 5), (9, 7, 5)  # the map with its words, where it says most


def whole() -> object:
    """The maps of a text whose maps are run whole."""
    prose.title(words.title())
    try:
        view, error = views.view(), None
    except ValueError as refusal:
        view, error = None, refusal

    if view:
        prose.lead(*words.lead(view), words.look(view))
        questions.ask(guess.question, view)

    first = WORDS_FIRST if view and view.trained else HEADS_FIRST
    with st.container(key="beside"):
        *pictures, side = st.columns(first if view else [16, 5], gap="medium")
    with side:
        controls.run()
    if view is None:
        with pictures[0]:
            prose.refused(error)
        return None
    with side:
        maps.controls.cell_controls(view.maps.run.words, view.maps.columns)
    heads, one_head = pictures[::-1] if view.trained else pictures
    with heads:
        prose.say(maps.words.caption(view.maps))
        maps.charts.thumbnails(view.maps)
    with one_head:
        with st.container(key="framed"):
            prose.say(words.framed(view))
        maps.charts.large(view.maps)
        for sentence in words.under(view):
            prose.say(sentence)

    below.sections_of(view)
    maps.controls.listen(view.maps)
    return view


def in_blocks() -> object:
    """The map of a longer one."""
    prose.title(t("attention_maps.title_long"))
    above = st.container()
    with st.container(key="beside"):
        blocks, part, side = st.columns((8, 8, 5), gap="medium")
    with side:
        controls.run()
        long.controls.cell()
    try:
        with above:
            view = long.view.chosen(long.draw.progress(st.empty()))
            long.draw.lead(view)
        with blocks:
            long.draw.blocks(view)
        with part:
            long.draw.part(view)
    except ValueError as refusal:
        with above:
            prose.refused(refusal)
        return None
    long.draw.memory(view)
    long.controls.listen(view)
    return view


with page.frame(PAGE) as frame:
    drawn = in_blocks if long.view.asked() else scene if views.keeps_a_state() else whole
    frame.view = drawn()
