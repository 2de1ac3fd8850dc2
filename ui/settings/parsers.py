"""How the text of a setting in a link is read.

A parser returns the nearest valid value or raises ValueError where there is none.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from mla_engine import PRESETS
from mla_engine.language_model.texts import WORDS
from mla_engine.studies.words import words_of

SMALL = "small"  # our own sizes, whose numbers can be read
TRAINED = "trained"  # our small models that were trained
ROOM_LETTERS, ROOM_LENGTH = "23456789ABCDEFGHJKMNPQRSTVWXYZ", 8  # none looks like another
MOST_WORDS, MOST_CHARACTERS = 256, 2000  # of a sentence that they read

Parser = Callable[[str], object]


def as_text(value: object) -> str:
    """A setting's value as a link says it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def says(text: str, value: object) -> bool:
    """Whether the text says this value, perhaps spelt in another way ("2" for 2.0)."""
    if isinstance(value, float | int):
        try:
            return float(text) == value
        except ValueError:
            return isinstance(value, bool)
    return as_text(value) == text


@dataclass(frozen=True)
class Setting:
    """A default and a parser from the text in a link; a personal one stays out of links.

    One that `follows` takes its default from the preset, once another than the app's is chosen.
    """

    default: object
    parse: Parser
    personal: bool = False
    follows: Callable[[str], object] | None = None

    def can_be(self, value: object) -> bool:
        """Whether a link can bring this value."""
        try:
            return self.parse(as_text(value)) == value
        except ValueError:
            return False


def whole(least: int, most: int, multiple_of: int = 1) -> Parser:
    """Whole numbers, brought into the range and down to a multiple."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            raise ValueError(text)
        value = min(most, max(least, int(text)))
        return max(least, value - value % multiple_of)

    return parse


def number(least: float, most: float) -> Parser:
    """Decimal numbers, brought into the range."""

    def parse(text: str) -> float:
        if not re.fullmatch(r"[+-]?[0-9]{0,12}\.?[0-9]{0,12}", text) or not math.isfinite(
            float(text)
        ):
            raise ValueError(text)
        return min(most, max(least, float(text)))

    return parse


def one_of(*options: str) -> Parser:
    """One of these codes."""

    def parse(text: str) -> str:
        if text not in options:
            raise ValueError(text)
        return text

    return parse


def words(most: int) -> Parser:
    """Free text of at most `most` characters; a longer one is refused whole."""

    def parse(text: str) -> str:
        if len(text) > most:
            raise ValueError(text)
        return text

    return parse


def flag(text: str) -> bool:
    """1 or 0; what str() makes of a bool is read as well."""
    values = {"1": True, "True": True, "0": False, "False": False}
    if text not in values:
        raise ValueError(text)
    return values[text]


def preset(text: str) -> str:
    """The key of a published model, our trained models, or our own small sizes."""
    return one_of(TRAINED, SMALL, *PRESETS)(text)


def published(text: str) -> str:
    """The key of a published model."""
    return one_of(*PRESETS)(text)


def power_of_two(least: int, most: int) -> Parser:
    """Powers of two in the range; another number comes down to the nearest below."""
    within = whole(least, most)
    return lambda text: 1 << (within(text).bit_length() - 1)


def optional(parse: Parser) -> Parser:
    """What `parse` reads, or None for no value."""
    return lambda text: None if text == "None" else parse(text)


def sentence(text: str) -> str:
    """A text whose words can be run; the empty one stands for the page's own.

    Raises:
        TextError: as `words_of`.
    """
    if text:
        words_of(text)
    return text


def known(text: str) -> str:
    """A sentence of words that the trained models know; the empty one stands for the app's own.

    Raises:
        ValueError: another word, or more than are read.
    """
    written = text.lower().split()
    if len(text) > MOST_CHARACTERS or len(written) > MOST_WORDS or set(written) - set(WORDS):
        raise ValueError(text)
    return text


def room(text: str) -> str:
    """The code of a class, in capitals or not, with or without its hyphen; the empty one is none.

    Raises:
        ValueError: no class can have this code.
    """
    code = re.sub(r"[\s-]", "", text[:40]).upper()
    if code and (len(code) != ROOM_LENGTH or set(code) - set(ROOM_LETTERS)):
        raise ValueError(text)
    return code
