"""A trained layer's map: who looks at what, how much and why there, and what comes next."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mla_engine.checkpoints.tokens import SPACE
from mla_engine.language_model.answers import Answer
from mla_engine.language_model.heads import THRESHOLD
from ui.parts.maps.reading import Reading, beyond, expectation, named, quoted, reading
from ui.parts.maps.view import Maps
from ui.sources import Trained, trained
from ui.words.numbers import count, fixed, share
from ui.words.text import sentences, t

SCORED = {  # what a key is to its query -> the score of the heads that look at such a key
    "recall": "induction",
    "copy": "copying",
    "back": "back",
    "agreement": "agreement",
    "brackets": "brackets",
    "before": "previous",
}
CLEAR = 2.0  # times as much as the other part alone: this part makes the look
UNDONE = True, 1.0  # mask and temperature as the model was trained


@dataclass(frozen=True)
class Look:
    """One cell of one head.

    Args:
        kind: what the key is to the query, see `kind`.
        seen: how many words the query sees.
        best: the place that gets most of the query's attention.
        most: its share.
        reading: what comes after the query, where a model of the made-up language reads.
    """

    kind: str
    seen: int
    best: int
    most: float
    reading: Reading | None


def look(maps: Maps, source: Trained | None) -> Look:
    """Look at the chosen cell, of a trained layer or of a real one.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    words, row = spoken(maps), maps.attention[maps.place, maps.query]
    seen = maps.mask[maps.query]
    read = reading(source, words, maps.query) if source else None
    decided = read.answer if read else None
    of = kind(words, maps.query, maps.key, decided) if seen[maps.key] else "hidden"
    best = int(row.argmax())
    return Look(of, int(seen.sum()), best, float(row[best]), read)


def spoken(maps: Maps) -> tuple[str, ...]:
    """Return the words as a sentence names them: without the space before a real model's pieces."""
    return tuple(word.lstrip(SPACE) or word for word in maps.run.words)


def kind(words: Sequence[str], query: int, key: int, answer: Answer | None) -> str:
    """Return the most telling thing that a key is to its query.

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


def share_by(maps: Maps, code: str) -> float:
    """Return the share that the cell would have by one part of the logits alone."""
    seen = maps.mask[maps.query]
    logits = maps.run.tensors[code][0, maps.place, maps.query].astype(np.float64)
    powers = np.exp((logits - logits[seen].max()) / maps.temperature) * seen
    return float(powers[maps.key] / powers.sum())


def verdict(content: float, position: float, both: float, even: float) -> str:
    """Name the part that makes a look: "content", "position", "either", "together", "" for no look.

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


def lead(maps: Maps, look: Look) -> tuple[str, str]:
    """The cell's share; whose look it is, and what the model expects next."""
    return share(maps.share), sentences((looks(maps, look), expectation(look.reading)))


def looks(maps: Maps, look: Look, layer: int | None = None) -> str:
    """Return whose look it is at what, of a real model's layer by its number."""
    words, of = spoken(maps), "" if layer is None else "_of_layer"
    values = {"head": count(maps.head), "layer": count(layer or 0)}
    values |= {"query": named(words, maps.query), "target": _target(maps, look)}
    if look.seen == 1:
        return t("attention_maps.look_alone", **values)
    if look.kind == "hidden":
        why = "hidden" if maps.key > maps.query else "not_chosen"
        return t(f"attention_maps.look_{why}", **values)
    if look.best == maps.key:
        return t(f"attention_maps.look_most{of}", **values)
    best = t("attention_maps.itself") if look.best == maps.query else named(words, look.best)
    return t(f"attention_maps.look_some{of}", most=share(look.most), best=best, **values)


def _target(maps: Maps, look: Look) -> str:
    """The key by its word, and what it is to the query."""
    words, back = spoken(maps), maps.query - maps.key
    if look.kind == "itself":
        return t("attention_maps.itself")
    if look.kind in ("hidden", "later", "same"):
        return named(words, maps.key)
    values = {"word": quoted(words[maps.query]), "n": count(back)}
    return named(words, maps.key) + t(f"attention_maps.key_{look.kind}", **values)


def under(maps: Maps, source: Trained, look: Look) -> list[str]:
    """Below the map: which part makes the look, whether the head does so elsewhere, notes."""
    said = [_made(maps, look), _habit(maps, source, look), _changed(maps)]
    return [one for one in (*said, beyond(source, maps.run.words)) if one]


def _made(maps: Maps, look: Look) -> str:
    if look.seen == 1 or look.kind == "hidden" or not maps.parts:
        return ""
    content, position = (share_by(maps, code) for code in maps.parts)
    by = verdict(content, position, maps.share, 1 / look.seen)
    values = {"content": share(content), "position": share(position), "share": share(maps.share)}
    return t(f"attention_maps.made_{by or 'no_look'}", **values)


def _habit(maps: Maps, source: Trained, look: Look) -> str:
    if look.kind not in SCORED:
        return ""
    name = SCORED[look.kind]
    score = trained.head_scores(source, name)[maps.head]
    values = {"score": t("common.percent", value=fixed(100 * score, 0)), "head": count(maps.head)}
    values["texts"] = count(trained.score_texts(name))
    values["does"] = t(f"attention_maps.does_{name}")
    return t(f"attention_maps.habit_{'named' if score >= THRESHOLD else 'not'}", **values)


def _changed(maps: Maps) -> str:
    """Return the note that the model itself reads on with its own mask and temperature."""
    own = (maps.causal, maps.temperature) == UNDONE
    return "" if own else t("attention_maps.changed")
