"""Sentences for the app's own real model, and what a head of it does on the text that it reads.

Each page has five of its own, beside a state of the page that shows something on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mla_engine.language_model.text_heads import looks_in, scores
from ui.settings import state
from ui.sources.small_model import AS_TRAINED
from ui.words.numbers import count, share
from ui.words.text import listed, safe, t

ALICE = "Alice went to the market and bought a red apple. "
ALICE += "Then Alice went to the market and bought a green pear."


@dataclass(frozen=True)
class Example:
    """A sentence, and the settings that show something on it.

    Args:
        text: the sentence.
        shows: values of the page's settings, of the same settings in each of its examples.
        pairs: queries and keys between which the head looks, where no score of a kind tells it.
    """

    text: str
    shows: Mapping[str, object]
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def settings(self) -> dict[str, object]:
        """All that it sets."""
        return {"text": self.text, **self.shows}


Examples = Mapping[str, Example]  # by what they show, as texts name it


def of_head(text: str, layer: int, head: int, query: int, key: int) -> Example:
    """Return a sentence with a head, and the cell of its map that shows what it does."""
    return Example(text, {"layer": layer, "map_head": head, "map_query": query, "map_key": key})


RIVER = "The river was cold, the wind was cold, and the stones along the river were cold."
KEEPER = "The old lighthouse keeper climbed the narrow stairs every evening to light the lamp."
SPOONS = "My grandmother keeps her silver spoons in the top drawer of the kitchen."
OF_HEADS = {  # of all 270 heads one of the best at its look, by `text_heads.sentence_scores`
    "induction": of_head(ALICE, 17, 5, 19, 8),  # the second `a` at `red`
    "previous": of_head(KEEPER, 16, 0, 3, 2),
    "same": of_head(RIVER, 5, 6, 17, 3),
    "first": of_head(SPOONS, 18, 8, 5, 0),
}


def opens(examples: Examples) -> dict[str, object]:
    """Return what a page opens with: the app's own real model and the first sentence, if any."""
    source, first = AS_TRAINED.source(), next(iter(examples.values()))
    return {"source": source} | first.settings if source else {}


def told(tokens: Sequence[int], attention: np.ndarray, head: int) -> str:
    """Return what a head does on a text, by its best score there; empty for a single token.

    Args:
        tokens: the text's.
        attention: the head's map [t,s].
        head: its number, to name it.
    """
    ids, maps = torch.tensor(tokens), torch.tensor(attention)
    found = scores(ids[None], [maps[None, None]])
    if not found.kinds:
        return ""
    [[name]], [[row]] = found.names(), found.table.tolist()
    best = row.index(max(row))
    kind = found.kinds[best]
    facts = {"head": count(head), "share": share(row[best])}
    facts |= {"even": share(float(found.even[best])), "queries": count(_queries(ids, kind))}
    key = f"head_{kind}" if name else "head_unnamed"
    return t(f"examples.{key}", look=t(f"examples.look_{kind}"), **facts)


def told_of_pairs(
    examples: Examples, words: Sequence[str], attention: np.ndarray, head: Mapping[str, int]
) -> str:
    """Return what the head of an example does in the pairs that it names; else nothing.

    Args:
        examples: the page's.
        words: the text's pieces, as a sentence shows them.
        attention: the head's map [t,s].
        head: its layer and its number, as the examples name them, the number last.
    """
    number, text = count([*head.values()][-1]), state.settings()["text"]
    for name, one in examples.items():
        if one.pairs and one.text == text and head.items() <= one.shows.items():
            given = [_of_pair(words, pair, float(attention[pair])) for pair in one.pairs]
            return t(f"examples.pairs_{name}", head=number, pairs=listed(given))
    return ""


def _of_pair(words: Sequence[str], pair: tuple[int, int], given: float) -> str:
    query, target = (safe(words[place]) for place in pair)
    return t("examples.pair", query=query, target=target, share=share(given))


def _queries(ids: torch.Tensor, kind: str) -> int:
    """Return how many tokens have something of this kind to look at."""
    return int(looks_in(ids)[kind].any(-1).sum())
