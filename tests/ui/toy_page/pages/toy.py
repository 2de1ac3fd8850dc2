"""Toy: how many numbers some tokens leave in the cache."""

from ui.pages.toy import PAGE
from ui.pages.toy.view import view

from ui.frame import page
from ui.parts import prose
from ui.parts.control import control
from ui.words.numbers import count
from ui.words.text import t

with page.frame(PAGE) as frame:
    here = view()
    prose.title(t("toy.title"))
    numbers = count(here.numbers)
    prose.lead(numbers, t("toy.line", tokens=here.tokens, numbers=numbers), t("toy.look"))
    control("toy_tokens")
    frame.view = here
