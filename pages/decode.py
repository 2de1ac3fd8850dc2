"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

import streamlit as st

from ui.frame import page
from ui.pages.decode import PAGE, blocks, statement, step, text, uneven
from ui.pages.decode.view import view
from ui.parts import prose, questions, ways
from ui.sources.model import present

with page.frame(PAGE) as frame:
    prose.title(statement.title())
    try:
        shown, error = view(), None
    except ValueError as refusal:
        shown, error = None, refusal

    if shown:
        prose.lead(*statement.lead(shown), statement.look(shown))
        questions.ask(statement.question, shown)
    else:
        prose.refused(error)

    picture, choices = st.columns([2, 1], gap="medium")
    with choices:
        text.controls(present())
        blocks.controls()
        if shown:
            step.controls(shown)
    if shown:
        with picture:
            blocks.draw(shown)
        if said := uneven.grows(shown):
            with st.container(key="dec_grows"):
                prose.say(said)
        step.draw(shown)
        if said := text.written(shown):
            prose.note(said)
        prose.say(step.expand(shown))
        prose.say(step.compared(shown))
        prose.say(statement.at_large(shown))
        prose.note(step.counted(shown))
        if left := step.not_run(shown):
            prose.note(left)
        prose.say(text.whose(shown))
        prose.say(ways.assumed(shown.model, shown.latent))
    frame.view = shown
