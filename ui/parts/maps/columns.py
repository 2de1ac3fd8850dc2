"""The columns of a map: words, and for some layers pooled entries and a sink."""

from collections.abc import Sequence

import numpy as np

from mla_engine.config import AttentionConfig
from ui.parts.maps.run import Run
from ui.words.text import t

MOST_WORDS = 4  # of a block that its entry is named by in full
FEW_BLOCKS = 16  # between which lines leave the cells to be seen
AHEAD = "|"  # after the words that an entry pools of the block before its own


def count_of(config: AttentionConfig, tokens: int) -> int:
    """Return the number of columns in a map of so many tokens."""
    entries = tokens // config.pooling if config.pooling else 0
    return tokens + entries + 1 if config.sinks else tokens


def columns(run: Run) -> tuple[str, ...]:
    """Return the columns' names: the words, each entry by the words it pools, the sink."""
    if not run.sinks:
        return run.words
    return (*run.words, *entries(run), t("maps.sink"))


def entries(run: Run) -> tuple[str, ...]:
    """Return the names of what pools words: entries, or blocks by their index keys."""
    return tuple(_entry(run, place) for place in range(run.entries or run.blocks))


def _entry(run: Run, place: int) -> str:
    """Return an entry by the words of its block, after those that it pools of the one before."""
    members = [int(token) for token in run.tensors["members"][place]]
    own = run.config.pooling
    ahead = [run.words[token] for token in members[:-own] if token >= 0]
    block = _short([run.words[token] for token in members[-own:]])
    return f"{_short(ahead)}{AHEAD}{block}" if ahead else block


def breaks(run: Run) -> tuple[int, ...]:
    """Return the columns at which words and entries end; of few blocks the first of each."""
    words = len(run.words)
    if 0 < run.blocks <= FEW_BLOCKS:
        return tuple(range(run.config.pooling, words, run.config.pooling))
    return tuple(dict.fromkeys((words, words + run.entries))) if run.sinks else ()


def left_out(run: Run, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Return the reasons why cells of words up to the query are hidden -> those cells, bool [t,s].

    An indexer did not choose them, or they are outside of a window.

    Args:
        run: of the map.
        mask: bool [t,s], where it is shown.
    """
    return {t(f"maps.{why}"): cells for why, cells in reasons(run, mask).items()}


def reasons(run: Run, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Return the cells of `left_out` by the codes "not_chosen" and "outside"."""
    tokens, n = np.arange(len(run.words)), mask.shape[1]
    ends = np.full(n, -1)  # the last word of each column; the sink has none
    ends[: len(tokens)] = tokens
    if run.entries:
        ends[len(tokens) : n - 1] = run.tensors["members"][:, -1]
    hidden, entry = (ends <= tokens[:, None]) & ~mask, np.arange(n) >= len(tokens)
    if run.config.chooses_keys:
        entry = np.ones(n, dtype=bool)  # every key is chosen or not
    kinds = {"outside": hidden & ~entry, "not_chosen": hidden & entry}
    return {why: cells for why, cells in kinds.items() if cells.any()}


def _short(words: Sequence[str]) -> str:
    return " ".join(words) if len(words) <= MOST_WORDS else f"{words[0]}…{words[-1]}"
