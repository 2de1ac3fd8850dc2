"""What the page shows: a text, the word of it that asks, how many keys are read, a context."""

from dataclasses import dataclass

import numpy as np

from mla_engine.language_model.questions import Questions
from mla_engine.language_model.sparse import ALL, Answered
from ui.engine import trained
from ui.engine.trained import Trained
from ui.pages.sparse import run
from ui.pages.sparse.run import Reading
from ui.pages.sparse.settings import KEYS
from ui.settings import state
from ui.settings.page import Note

# eight names, each with a thing: what belongs to cleo?
OWN = "anna lamp ben cup cleo drum dan boat eva coin finn kite gina bell hugo sock cleo"
DRAWN = 18  # keys in the picture: as many as a phone names


@dataclass(frozen=True, eq=False)
class View:
    """The present settings.

    Args:
        trained: the model with indexers.
        tokens: the numbers of the words of the text.
        keys: that each query reads.
        query: the place of the word that asks.
        layer: whose indexer and heads are shown.
        context: tokens, at the sizes of a published model.
    """

    trained: Trained
    tokens: tuple[int, ...]
    keys: int
    query: int
    layer: int
    context: int

    @property
    def words(self) -> tuple[str, ...]:
        """Of the text."""
        return tuple(self.trained.config.words[token] for token in self.tokens)

    @property
    def reading(self) -> Reading:
        """The text, read with so many keys."""
        return run.reading(self.tokens, self.keys)

    @property
    def dense(self) -> Reading:
        """The text, read with all keys."""
        return run.reading(self.tokens, ALL)

    @property
    def asked(self) -> Answered:
        """What the model still answers."""
        return run.asked(self.keys)

    @property
    def whole(self) -> Answered:
        """What it answers with all keys."""
        return run.asked(ALL)

    @property
    def questions(self) -> Questions:
        """What it is asked."""
        return run.questions(self.trained.config.words)

    @property
    def seen(self) -> int:
        """Keys that the query sees."""
        return self.query + 1

    def row(self, shares: np.ndarray) -> np.ndarray:
        """Of numbers [layer,t,s] those of the chosen layer and query, of the keys that it sees."""
        return shares[self.layer, self.query, : self.seen]

    @property
    def drawn(self) -> list[int]:
        """The keys in the picture, in the order of the text: chosen ones first, if not all fit."""
        chosen, heads = self.row(self.reading.chosen), self.row(self.reading.heads)
        first = np.lexsort((-heads, ~chosen))
        return sorted(first[:DRAWN].tolist())


def mend() -> list[Note]:
    """Bring the keys to a number that is measured, and the word that asks into the text."""
    s = state.settings()
    near = min(KEYS, key=lambda keys: abs(keys - s["sp_keys"]))
    notes = state.nearest(sp_keys=near)
    return notes + state.at_most(sp_back=len((s["sentence"] or OWN).split()) - 1)


def view() -> View:
    """What the present settings show.

    Raises:
        ValueError: there is no model, it does not know a word, or it cannot be run.
    """
    s, model = state.settings(), trained.load(run.CODE)
    read = trained.tokens(model.config, s["sentence"] or OWN)
    return View(
        trained=model,
        tokens=read,
        keys=s["sp_keys"],
        query=max(0, len(read) - 1 - s["sp_back"]),
        layer=s["sp_layer"],
        context=s["sp_context"],
    )
