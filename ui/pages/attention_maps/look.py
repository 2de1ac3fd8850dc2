"""What the chosen cell of a trained layer's map is: who looks at what, how much, and why there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mla_engine.language_model.answers import Answer
from ui.engine import head_scores
from ui.engine.trained_layer import TrainedLayer
from ui.parts.maps.reading import Reading, reading
from ui.parts.maps.view import Maps

SCORED = {  # what a key is to its query -> the score of the heads that look at such a key
    "recall": "induction",
    "copy": "copying",
    "back": "back",
    "agreement": "agreement",
    "brackets": "brackets",
    "before": "previous",
}
CLEAR = 2.0  # times as much as the other part alone: this part makes the look


@dataclass(frozen=True)
class Look:
    """One cell of one head.

    Args:
        kind: what the key is to the query, see `kind`.
        seen: how many words the query sees.
        best: the place that gets most of the query's attention.
        most: its share.
        reading: what comes after the query.
    """

    kind: str
    seen: int
    best: int
    most: float
    reading: Reading


def look(maps: Maps, origin: TrainedLayer) -> Look:
    """What the chosen cell is.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    words, row = maps.run.words, maps.attention[maps.place, maps.query]
    seen = maps.mask[maps.query]
    read = reading(origin, words, maps.query)
    of = kind(words, maps.query, maps.key, read.answer) if seen[maps.key] else "hidden"
    best = int(row.argmax())
    return Look(of, int(seen.sum()), best, float(row[best]), read)


def kind(words: Sequence[str], query: int, key: int, answer: Answer | None) -> str:
    """What a key is to its query, the most telling first.

    The task whose answer it decides; "itself", "later", "follower" of the same word earlier,
    "before" the query, the "same" word, or "other".
    """
    before = words[key - 1] if key else ""
    return next(
        name
        for name, holds in (
            (answer.task if answer else "", answer is not None and answer.place == key),
            ("itself", key == query),
            ("later", key > query),
            ("follower", before == words[query]),
            ("before", key == query - 1),
            ("same", words[key] == words[query]),
            ("other", True),
        )
        if holds
    )


def habit(maps: Maps, origin: TrainedLayer, of: str) -> tuple[str, float] | None:
    """The score of heads that look at such a key, and how high it is for the chosen head."""
    if of not in SCORED:
        return None
    return SCORED[of], head_scores.score(origin, SCORED[of])[maps.head]


def alone(maps: Maps) -> tuple[float, ...]:
    """The share that the cell would have by each part of the logits alone."""
    seen = maps.mask[maps.query]
    return tuple(_share(maps, code, seen) for code in maps.parts)


def _share(maps: Maps, code: str, seen: np.ndarray) -> float:
    logits = maps.run.tensors[code][0, maps.place, maps.query].astype(np.float64)
    powers = np.exp((logits - logits[seen].max()) / maps.temperature) * seen
    return float(powers[maps.key] / powers.sum())


def verdict(content: float, position: float, both: float, even: float) -> str:
    """Which part makes a look: "content", "position", "either", "together"; empty for no look.

    Args:
        content: the share by the content part alone.
        position: by the position part alone.
        both: as it is.
        even: of a query that looks at all it sees alike.
    """
    if both <= even:
        return ""
    if CLEAR * max(content, position) < both:
        return "together"
    if content >= CLEAR * position:
        return "content"
    return "position" if position >= CLEAR * content else "either"
