"""What the decode page asks: what it costs to expand the cache anew at each step."""

from ui.pages.decode.view import View
from ui.parts.guess.question import Guess, decades
from ui.words.numbers import times
from ui.words.text import t


def question(view: View) -> Guess:
    """How many times the multiply-adds of absorbing an expanded step takes."""
    return decades(
        "decode",
        t("decode.guess"),
        view.multiply_adds("mla_each") / view.multiply_adds("mla_absorbed"),
        (1, 1000),
        say=times,
        why=t("decode.guess_why"),
        hides=("dec_table",),
    )
