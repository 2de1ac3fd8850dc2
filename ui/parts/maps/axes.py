"""Any tensor of a run as a matrix: its two axes, and the place on a third one."""

from collections.abc import Sequence

from mla_engine import SYMBOLS
from mla_engine.config import AttentionConfig
from ui.words.text import t

THIRD = "jayp"  # index heads, series, groups of heads, pooled tokens: never two of them at once
LAST = {"j": "n_index_heads", "a": "n_series", "p": "n_slots"}


def axes(config: AttentionConfig, code: str) -> tuple[str, str]:
    """Return the letters of rows and columns; a vector is one row."""
    letters = _letters(code)
    if len(letters) > 2:
        letters.remove(_third(letters))
    if config.d_latent_q is None:
        letters = ["d" if axis == "l" else axis for axis in letters]
    return (letters[0], letters[1]) if len(letters) == 2 else ("", letters[0])


def cut(config: AttentionConfig, code: str, head: int) -> dict[str, int]:
    """Return the letter of a third axis -> the place on it that is shown; empty without one.

    Of index heads, which are others than these, that of the same number or else the last; of
    output latents that of the head's group; of what is pooled its own entry and last token.
    """
    letters = _letters(code)
    if len(letters) <= 2:
        return {}
    letter = _third(letters)
    if letter == "y":
        return {letter: head // config.group_size}
    last = config.size(LAST[letter]) - 1
    return {letter: min(head, last) if letter == "j" else last}


def group_place(config: AttentionConfig, heads: Sequence[int], head: int) -> int:
    """Return the place of a head's group among the output latents of a trace of these heads."""
    groups = dict.fromkeys(one // config.group_size for one in heads)
    return list(groups).index(head // config.group_size)


def named(config: AttentionConfig, letter: str) -> str:
    """Return an axis's name; a letter with two meanings has the one of this mechanism."""
    return t(f"maps.axis_{_entries(config) if letter == 'i' else letter}") if letter else ""


def _entries(config: AttentionConfig) -> str:
    """Return what the letter i stands for, as a text's key."""
    if config.has_blocks:
        return "block"
    return "i" if config.has_entries else "decay"


def _letters(code: str) -> list[str]:
    return [axis for axis in SYMBOLS[code].axes.split() if axis not in "bhg"]


def _third(letters: Sequence[str]) -> str:
    return next(letter for letter in THIRD if letter in letters)
