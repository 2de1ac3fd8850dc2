"""From a text to words, the tokens of a made-up model, and from words to hidden states.

A word is a token; a Chinese character is one by itself, since nothing stands between them. Equal
words get equal vectors wherever they stand: only the rotation tells their positions apart.
"""

import hashlib
import re
from functools import lru_cache

import numpy as np

from kvcount.drawn import SELECTORS, redrawn
from kvcount.refusals import RefusedError

MAX_WORDS = 256
MAX_CHARACTERS = 2000

_HAN = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}][{SELECTORS}]*|[^\s{_HAN}]+")
_SYLLABLES = ("ka", "lo", "mi", "ne", "ru", "sa", "to", "vi", "we", "zu")


class TextError(RefusedError):
    """A text beyond the limits: `code` says which of them, `values` by how much."""

    section = "text"

    @property
    def key(self) -> str:
        """The code, as the pages' own texts are named."""
        return self.code


def words_of(text: str) -> tuple[str, ...]:
    """Return the tokens of `text`, at least one and at most MAX_WORDS.

    Raises:
        TextError: the text is empty, too long or has too many words.
    """
    if len(text) > MAX_CHARACTERS:
        raise TextError("too_long", given=len(text), most=MAX_CHARACTERS)
    words = tuple(_TOKEN.findall(visible(text)))
    if not words:
        raise TextError("no_words")
    if len(words) > MAX_WORDS:
        raise TextError("too_many", given=len(words), most=MAX_WORDS)
    return words


def visible(text: str) -> str:
    """Return `text` without what would be drawn as nothing."""
    return redrawn(text, lambda c: c if c.isspace() else "")


def generated_words(count: int) -> tuple[str, ...]:
    """Return `count` made-up words out of a hundred; a longer list begins as a shorter one does."""
    places = np.random.default_rng(0).integers(0, len(_SYLLABLES), (count, 2))
    return tuple(_SYLLABLES[a] + _SYLLABLES[b] for a, b in places)


@lru_cache(maxsize=256)  # of words that return in a text: 16 MiB at most at 16,384 wide
def _vector(word: str, seed: int, d_model: int) -> np.ndarray:
    digest = hashlib.blake2b(f"{seed}\0{word}".encode(), digest_size=16).digest()
    draw = np.random.default_rng(int.from_bytes(digest, "big"))
    return draw.standard_normal(d_model, dtype=np.float32)


def hidden_states(words: tuple[str, ...], seed: int, d_model: int) -> np.ndarray:
    """Return h, float32 [t,d]: a standard normal vector for each word, drawn by word and seed."""
    return np.stack([_vector(word, seed, d_model) for word in words])
