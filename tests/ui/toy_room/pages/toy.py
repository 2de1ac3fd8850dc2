"""Toy: how many numbers some tokens leave in the cache."""

import streamlit as st
from ui.pages.toy import PAGE
from ui.pages.toy.view import view

from ui.frame import page
from ui.parts import prose
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

with page.frame(PAGE) as frame:
    here = view()
    prose.title(t("toy.title"))
    numbers = count(here.numbers)
    prose.lead(numbers, t("toy.line", tokens=here.tokens, numbers=numbers), t("toy.look"))
    state.control(st.slider, t("toy.tokens"), "toy_tokens", 1, 9)
    frame.view = here
