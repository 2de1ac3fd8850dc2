"""What the columns of a map stand for: words, and of some layers pooled entries and a sink."""

from collections.abc import Sequence

from mla_engine.config import AttentionConfig
from ui.parts.maps.run import Run
from ui.words.text import t

MOST_WORDS = 4  # of a block that its entry is named by in full
AHEAD = "|"  # after the words that an entry pools of the block before its own


def count_of(config: AttentionConfig, tokens: int) -> int:
    """How many columns the map of so many tokens has."""
    pooling = getattr(config, "pooling", None)
    if pooling is None:
        return tokens
    return tokens + (tokens // pooling if pooling else 0) + 1


def columns(run: Run) -> tuple[str, ...]:
    """The names of the columns: the words, each entry by the words it pools, the sink."""
    if not run.sinks:
        return run.words
    return (*run.words, *(entry(run, place) for place in range(run.entries)), t("maps.sink"))


def entry(run: Run, place: int) -> str:
    """An entry by the words of its block, after those that it pools of the block before."""
    members = [int(token) for token in run.tensors["members"][place]]
    own = run.config.pooling
    ahead = [run.words[token] for token in members[:-own] if token >= 0]
    block = _short([run.words[token] for token in members[-own:]])
    return f"{_short(ahead)}{AHEAD}{block}" if ahead else block


def _short(words: Sequence[str]) -> str:
    return " ".join(words) if len(words) <= MOST_WORDS else f"{words[0]}…{words[-1]}"
