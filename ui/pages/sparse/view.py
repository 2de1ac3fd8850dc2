"""The view of the page: a text read with few keys, and what is then still answered."""

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine.language_model.questions import Questions
from mla_engine.language_model.sparse import (
    ALL,
    ASKED,
    KEYS,
    RULES,
    SEED,
    Answered,
    Sparse,
    answered,
    looks,
)
from ui.engine import queue, shared_cache
from ui.settings import state
from ui.settings.page import Note
from ui.sources import trained
from ui.sources.layers import to_numpy
from ui.sources.trained import TrainedModel
from ui.words.text import t

CODE = "dsa"
# Eight names, each with a thing: what belongs to cleo?
OWN = "anna lamp ben cup cleo drum dan boat eva coin finn kite gina bell hugo sock cleo"
DRAWN = 18  # keys in the picture: as many as a phone names


@dataclass(frozen=True, eq=False)
class Reading:
    """A text that the model read with few keys, every layer of it.

    Args:
        index: what the indexer finds, as shares [layer,t,s].
        heads: where the heads would look among all keys, as shares [layer,t,s].
        chosen: which keys are read, bool [layer,t,s].
        left_out: of the heads' attention, the mean over the heads [layer,t].
        likeliest: the next word after each word, by its number [t].
        probability: of that word [t].
    """

    index: np.ndarray
    heads: np.ndarray
    chosen: np.ndarray
    left_out: np.ndarray
    likeliest: np.ndarray
    probability: np.ndarray


def reading(tokens: tuple[int, ...], keys: int) -> Reading:
    """The text read with so many keys.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    return _reading(trained.load(CODE).written, tokens, keys)


@shared_cache.cached(anywhere=True)
def _reading(_written: int, tokens: tuple[int, ...], keys: int) -> Reading:
    model = trained.load(CODE).model
    with queue.turn(), torch.inference_mode():
        trace = Sparse(model, keys)(torch.tensor([tokens]))
        layers = [block.attention for block in trace.blocks]
        seen = [looks(layer) for layer in layers]
        best = trace.probabilities()[0].max(-1)
    return Reading(
        index=to_numpy(torch.cat([one.index for one in seen])),
        heads=to_numpy(torch.cat([one.heads for one in seen])),
        chosen=torch.cat([layer.chosen for layer in layers]).numpy(),
        left_out=to_numpy(torch.cat([layer.left_out.mean(1) for layer in layers])),
        likeliest=best.indices.numpy(),
        probability=to_numpy(best.values),
    )


@shared_cache.cached
def questions(words: tuple[str, ...]) -> Questions:
    """The fresh texts that every rule is asked."""
    return Questions.drawn(words, ASKED, SEED)


def asked(keys: int, rule: str = "indexer") -> Answered:
    """Return the model's answers with so many keys, chosen by a rule: by its card, or asked once.

    Raises:
        ValueError, MemoryBudgetError, FullError: in the engine's words.
    """
    if found := _told(keys, rule):
        return found
    model = trained.load(CODE)
    answers = _asked_before(model.key)[keys, rule] = _asked(model.written, keys, rule)
    return answers


def _told(keys: int, rule: str) -> Answered | None:
    """Return the answers that the training or a page has asked the model already."""
    model = trained.load(CODE)
    by_card = model.card.get("answers", {}).get(rule, {}).get(str(keys))
    return Answered(*by_card) if by_card else _asked_before(model.key).get((keys, rule))


@lru_cache(8)
def _asked_before(_model: trained.Key) -> dict[tuple[int, str], Answered]:
    """Return the answers asked of a model: so few numbers that they stay where room is made."""
    return {}


@shared_cache.cached(anywhere=True)
def _asked(_written: int, keys: int, rule: str) -> Answered:
    model = trained.load(CODE).model
    texts = questions(model.config.words)
    with queue.turn(), torch.inference_mode():
        return answered(Sparse(model, keys, rule), texts)


def by_keys() -> pd.DataFrame:
    """Every rule at every number of keys, one after the other, with a bar."""
    wanted = [(rule, keys) for rule in RULES for keys in KEYS]
    place, rows = st.empty(), []
    try:
        for done, (rule, keys) in enumerate(wanted):
            if not _told(keys, rule):
                place.progress(done / len(wanted), t("sparse.asking"))
            found = asked(keys, rule)
            rows.append({"rule": rule, "keys": keys, "right": found.right} | found.by_task)
    finally:
        place.empty()
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class View:
    """The present settings.

    Args:
        trained: the model with indexers.
        tokens: the numbers of the words of the text.
        query: the place of the word that asks.
        chosen: the page's own settings.
    """

    trained: TrainedModel
    tokens: tuple[int, ...]
    query: int
    chosen: SimpleNamespace

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return tuple(self.trained.config.words[token] for token in self.tokens)

    @property
    def reading(self) -> Reading:
        """The text, read with so many keys."""
        return reading(self.tokens, self.chosen.keys)

    @property
    def dense(self) -> Reading:
        """The text, read with all keys."""
        return reading(self.tokens, ALL)

    @property
    def asked(self) -> Answered:
        """The model's answers with so many keys."""
        return asked(self.chosen.keys)

    @property
    def whole(self) -> Answered:
        """Its answers with all keys."""
        return asked(ALL)

    @property
    def questions(self) -> Questions:
        """The questions that it is asked."""
        return questions(self.trained.config.words)

    @property
    def seen(self) -> int:
        """Keys that the query sees."""
        return self.query + 1

    def row(self, shares: np.ndarray) -> np.ndarray:
        """Return the chosen layer's and query's numbers of [layer,t,s], for the keys it sees."""
        return shares[self.chosen.layer, self.query, : self.seen]

    @property
    def drawn(self) -> list[int]:
        """The keys in the picture, in the order of the text: chosen ones first, if not all fit."""
        chosen, heads = self.row(self.reading.chosen), self.row(self.reading.heads)
        first = np.lexsort((-heads, ~chosen))
        return sorted(first[:DRAWN].tolist())


def nearest() -> list[Note]:
    """Bring the keys to a number that is measured, and the word that asks into the text."""
    s = state.settings()
    near = min(KEYS, key=lambda keys: abs(keys - s["sp_keys"]))
    notes = state.nearest(sp_keys=near)
    return notes + state.at_most(sp_back=len((s["sentence"] or OWN).split()) - 1)


def view() -> View:
    """Return the view of the present settings.

    Raises:
        ValueError: there is no model, it does not know a word, or it cannot be run.
    """
    chosen, model = state.chosen("sparse"), trained.load(CODE)
    read = trained.tokens(model.config, state.settings()["sentence"] or OWN)
    return View(
        trained=model,
        tokens=read,
        query=max(0, len(read) - 1 - chosen.back),
        chosen=chosen,
    )
