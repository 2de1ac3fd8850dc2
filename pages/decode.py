"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

import streamlit as st

from ui.frame import page
from ui.pages.decode import PAGE, charts, controls, running, uneven, words
from ui.pages.decode.view import view
from ui.parts import prose, questions, ways

with page.frame(PAGE) as frame:
    prose.title(words.title())
    try:
        shown, error = view(), None
    except ValueError as refusal:
        shown, error = None, refusal

    if shown:
        prose.lead(*words.lead(shown), words.look(shown))
        questions.ask(words.question, shown)
    else:
        prose.refused(error)

    picture, choices = st.columns([2, 1], gap="medium")
    with choices:
        controls.text()
        controls.speed()
        if shown:
            controls.run_settings(shown.most_heads)
    if shown:
        with picture:
            charts.blocks(shown, controls.dial())
            if said := words.written(shown):
                prose.note(said)
        if said := uneven.grows(shown):
            with st.container(key="dec_grows"):
                prose.say(said)
        prose.say(words.expand(shown))
        running.draw(shown)
        prose.say(words.compared(shown))
        prose.say(words.at_large(shown))
        prose.note(words.counted(shown))
        if left := uneven.not_run(shown):
            prose.note(left)
        prose.say(words.whose(shown))
        prose.say(ways.assumed(shown.model, shown.latent))
    frame.view = shown
