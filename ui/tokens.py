"""A reader's text as it stands in a link; its words and their vectors are the engine's."""

from mla_engine.words import (
    MAX_CHARACTERS,
    MAX_WORDS,
    TextError,
    generated_words,
    hidden_states,
    words_of,
)

__all__ = [
    "MAX_CHARACTERS",
    "MAX_WORDS",
    "TextError",
    "generated_words",
    "hidden_states",
    "sentence",
    "words_of",
]


def sentence(text: str) -> str:
    """The parser of a text in a link; the empty one stands for the page's own.

    Raises:
        TextError: as `words_of`.
    """
    if text:
        words_of(text)
    return text
