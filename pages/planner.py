"""Planner: how many sequences GPUs can serve, how fast at best, and what limits them."""

import streamlit as st

from ui.frame import page
from ui.pages.planner import PAGE, controls, headline, lines, memory
from ui.pages.planner.view import unsized, view
from ui.parts import prose, questions
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("planner.title"))
    try:
        shown, error = view(), None
    except ValueError as refusal:
        shown, error = None, refusal

    waiting = unsized(error)
    if shown:
        prose.lead(*headline.lead(shown), headline.look(shown))
        questions.ask(headline.question, shown)
    elif waiting:
        prose.lead(*headline.waits(waiting))
    else:
        prose.refused(error)
    picture, choices = st.columns([6, 5], gap="large")
    with choices:
        controls.draw(of_files=bool(shown and shown.served.found.stored))
    if waiting:
        with picture:
            memory.draw_unsized(waiting)
    with picture if waiting else choices:  # near to what asks for a number
        controls.more(opened=not shown or bool(shown.served.own) or not shown.plan.bounded)
    if shown:
        with picture:
            memory.draw(shown)
            with st.expander(t("planner.adds_up")), st.container(key="planner_sums"):
                for sentence in memory.below(shown):
                    prose.say(sentence)
            with st.container(key="planner_report", horizontal=True):
                memory.report(shown)
        parts = {"speed": lines.speed, "contexts": lines.contexts, "crossing": lines.crossing}
        for name, draw in parts.items():
            st.subheader(t(f"planner.section_{name}"), anchor=False)
            with prose.refusals():
                draw(shown)
        with st.expander(t("planner.assumed")):
            for sentence in memory.assumed(shown):
                prose.say(sentence)
    if shown or waiting:
        controls.to_log()
    frame.view = shown
