"""The view of the page: a model, a text, its run, and the next word's probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from mla_engine.language_model import ModelTrace, chosen
from ui.pages.language_model.real.view import View as Real
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import MOST_WORDS
from ui.settings.shared import CHECKPOINT
from ui.sources import layers, trained, whole
from ui.sources.small_model import AS_TRAINED
from ui.sources.trained import DRAWN_ALONE, OWN, TrainedModel
from ui.words.text import t

DROPPED = {*DRAWN_ALONE, *CHECKPOINT, "preset"}
SHOWN = 8  # of the next words


@dataclass(frozen=True, eq=False)
class View:
    """A text that a model read.

    Args:
        trained: the model.
        tokens: the numbers of the words of the text.
        trace: every intermediate of the run.
        temperature: of the probabilities.
        drawn: whether the word to write is drawn, and not the likeliest.
        path: the word whose path is lit, by its place.
        cached: variant -> numbers that a layer of its model keeps of a token.
        query: of a link to another page: what is set, but for what no trained model goes with.
    """

    trained: TrainedModel
    tokens: tuple[int, ...]
    trace: ModelTrace
    temperature: float
    drawn: bool
    path: int
    cached: Mapping[str, int]
    query: dict[str, str]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return tuple(self.trained.config.words[token] for token in self.tokens)

    @property
    def text(self) -> str:
        """The words in a row."""
        return " ".join(self.words)

    @property
    def full(self) -> bool:
        """True where there is no room for one word more."""
        return len(self.tokens) >= MOST_WORDS

    @property
    def probabilities(self) -> np.ndarray:
        """The probability of every word as the next one after each word of the text [t,n]."""
        return layers.to_numpy(self.trace.probabilities(self.temperature)[0])

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """All words."""
        return self.trained.config.words

    @property
    def last(self) -> np.ndarray:
        """The probability of every word as the next one after the text [n]."""
        return self.probabilities[-1]

    @property
    def likeliest(self) -> list[tuple[str, float]]:
        """The next words that are likeliest, with their probabilities."""
        last = self.last
        best = np.argsort(-last, kind="stable")[:SHOWN]
        return [(self.vocabulary[i], float(last[i])) for i in best]

    def written(self) -> str:
        """The text with the next word, which is the likeliest or drawn at every call."""
        logits = self.trace.logits[:, -1]
        token = chosen(logits, self.temperature if self.drawn else 0, torch.default_generator)
        return f"{self.text} {self.trained.config.words[int(token)]}"

    def held(self, code: str) -> int:
        """Numbers that all layers of a variant's model keep of the text."""
        return self.cached[code] * self.trained.config.n_layers * len(self.tokens)


def mend() -> list[Note]:
    """Bring the settings within the model that reads; notes on what a link had asked for."""
    return _mend_real() if reads_real() else _mend_trained()


def _mend_trained() -> list[Note]:
    """Bring the model to one that there is, and the lit word into the text; notes as `nearest`."""
    s, there = state.settings(), trained.present()
    notes = []
    if there and s["lm_model"] not in there:
        notes += state.nearest(lm_model=there[0])
    return notes + state.at_most(lm_back=len((s["sentence"] or OWN).split()) - 1)


def _mend_real() -> list[Note]:
    """Bring the layer and the lit piece into the model and the text."""
    try:
        pieces, layers = len(whole.tokens(_text()).ids), whole.model().config.n_layers
    except ValueError:  # which `real_view` tells
        return []
    return state.at_most(lm_back=pieces - 1, layer=layers - 1)


def reads_real() -> bool:
    """Tell whether the app's own real model reads here, which this server can hold whole."""
    return AS_TRAINED.reads() and whole.key() is not None


def _text() -> str:
    return state.settings()["text"] or t("checkpoint.example")


def real_view() -> Real:
    """Return the view of the present settings with the app's own real model.

    Raises:
        ValueError: a text that cannot be read, a model that cannot be held.
    """
    s, read = state.settings(), whole.tokens(_text())
    return Real(
        model=whole.model(),
        text=_text(),
        ids=read.ids,
        words=read.tokens,
        reading=whole.reading(read.ids),
        layer=s["layer"],
        temperature=s["lm_temperature"],
        drawn=s["lm_pick"] == "drawn",
        more=s["lm_more"],
        path=max(0, len(read.ids) - 1 - s["lm_back"]),
    )


def view() -> View:
    """Return the view of the present settings with a trained model.

    Raises:
        ValueError: there is no model, it does not know a word, or it cannot be run.
    """
    s = state.settings()
    model = trained.load(s["lm_model"])
    read = trained.tokens(model.config, s["sentence"])
    return View(
        trained=model,
        tokens=read,
        trace=trained.run(model, read),
        temperature=s["lm_temperature"],
        drawn=s["lm_pick"] == "drawn",
        path=max(0, len(read) - 1 - s["lm_back"]),
        cached=trained.cached(),
        query={name: text for name, text in state.query().items() if name not in DROPPED},
    )


def name(code: str) -> str:
    """Return a variant's name."""
    return t(f"language_model.name_{code}")
