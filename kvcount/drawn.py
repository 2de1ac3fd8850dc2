"""Text of strangers as it can be shown: nothing in it hides, or turns what stands around it."""

import re
from collections.abc import Callable
from unicodedata import bidirectional, category

# Joiners stay within emoji and in the scripts they shape.
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # drawn as nothing or as a space
_JOINERS = "\u200c\u200d"
_SHAPED = "\u0600-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"  # Arabic, Indic, Khmer, Mongolian
_EMOJI = "\u2190-\u27ff\u2900-\u2bff\ufe0f\U0001f000-\U0001faff"
_LOOSE = re.compile(rf"(?<![{_SHAPED}])(?:(?<![{_EMOJI}])[{_JOINERS}]|[{_JOINERS}](?![{_EMOJI}]))")
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_ALONE = re.compile(rf"(?<!\S)[{SELECTORS}]+")
_TURNING = {"R", "AL", "AN"}  # written from right to left
ISOLATES = "\u2068\u2069"  # what is between them does not turn what is around
_ISOLATE, _END = ISOLATES
_ISOLATED = re.compile(rf"{_ISOLATE}([^\u2066-\u2069]*){_END}")


def redrawn(text: str, sign: Callable[[str], str]) -> str:
    """Return `text` with `sign(c)` in place of each character c that hides or turns."""
    if text.isascii() and text.isprintable():
        return text
    kept = "".join(c if c in _JOINERS or not hides(c) else sign(c) for c in text)
    for alone in (_LOOSE, _ALONE):
        kept = alone.sub(lambda found: "".join(map(sign, found[0])), kept)
    return kept


def hides(character: str) -> bool:
    """Return True if a character is invisible, breaks the line, or turns the text around."""
    return category(character) in _INVISIBLE or character in _BLANK


def drawn(text: str) -> str:
    """Return `text` with each of these as its number, as in <U+202E>; what is isolated stays so."""
    if text.isascii() and text.isprintable():
        return text
    parts = [redrawn(part, number) for part in _ISOLATED.split(text)]
    parts[1::2] = [f"{_ISOLATE}{part}{_END}" for part in parts[1::2]]
    return "".join(parts)


def number(character: str) -> str:
    """Return a character by its number."""
    return f"<U+{ord(character):04X}>"


def turns(character: str) -> bool:
    """Return True if it is written from right to left, and so moves numbers and signs beside it."""
    return bidirectional(character) in _TURNING


def isolated(text: str) -> str:
    """Put marks around `text` where, written from right to left, it would move what follows."""
    if text.isascii():
        return text
    return f"{_ISOLATE}{text}{_END}" if any(map(turns, _ISOLATED.sub("", text))) else text


class Quoted(str):
    """Return a text as a sentence quotes it: visible, cut, and isolated in its direction."""

    def __new__(cls, text: str) -> "Quoted":
        """Return the text with whatever hides in it drawn by its number."""
        return super().__new__(cls, redrawn(text, number))

    def __format__(self, cut: str) -> str:
        return isolated(format(str.__str__(self), cut))

    def __str__(self) -> str:
        return self

    def __repr__(self) -> str:
        return Quoted(super().__repr__())
