"""The view of the page with the app's own real model: a text, its reading, what is followed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from mla_engine.checkpoints.tokens import SPACE
from mla_engine.language_model import chosen
from mla_engine.language_model.lens import Guesses
from mla_engine.language_model.reading import Reading
from mla_engine.language_model.real import RealModel
from ui.settings.parsers import MOST_CHARACTERS
from ui.sources import whole
from ui.sources.layers import to_numpy
from ui.sources.whole import MOST_TOKENS

SHOWN = 8  # of the next pieces
LEFT = 24, 18, 12, 6, 4, 2, 0  # layers that are left after each lane of the picture
UNFINISHED, MOST_PARTS = "\N{REPLACEMENT CHARACTER}", 4  # of a character that takes several pieces


@dataclass(frozen=True, eq=False)
class View:
    """A text that the app's own real model read.

    Args:
        model: the model.
        text: as the reader wrote it.
        ids: of its pieces.
        words: its pieces as they are drawn.
        reading: what passes between the layers.
        layer: whose heads are shown.
        temperature: of the probabilities.
        drawn: whether the piece to write is drawn, and not the likeliest.
        more: how many pieces are written on.
        path: the piece whose row is lit, by its place.
    """

    model: RealModel
    text: str
    ids: tuple[int, ...]
    words: tuple[str, ...]
    reading: Reading
    layer: int
    temperature: float
    drawn: bool
    more: int
    path: int

    @property
    def vocabulary(self) -> Sequence[str]:
        """All pieces, as they are drawn."""
        return self.model.config.words

    @property
    def full(self) -> bool:
        """True where there is no room for one piece more."""
        return len(self.ids) >= MOST_TOKENS or len(self.text) > MOST_CHARACTERS - 40

    @cached_property
    def last(self) -> np.ndarray:
        """The probability of every piece as the next one after the text [n]."""
        logits = self.reading.logits[0, -1] / self.temperature
        return to_numpy(torch.softmax(logits, -1))

    @cached_property
    def likeliest(self) -> list[tuple[str, float]]:
        """The next pieces that are likeliest, with their probabilities."""
        best = np.argsort(-self.last, kind="stable")[:SHOWN]
        return [(self.vocabulary[i], float(self.last[i])) for i in best]

    @property
    def lanes(self) -> tuple[int, ...]:
        """After how many layers the stream is read in the picture."""
        return tuple(self.model.config.n_layers - n for n in LEFT if n < self.model.config.n_layers)

    def guesses(self, rows: range) -> Guesses:
        """Return the likeliest next pieces in each lane of these rows."""
        return whole.guesses(self.ids, self.lanes, tuple(rows), self.temperature)

    @cached_property
    def followed(self) -> tuple[int, int]:
        """The likeliest next piece after the lit one, and what the stream said before it."""
        first, second = self.reading.logits[0, self.path].topk(2).indices.tolist()
        before = self.guesses(range(self.path, self.path + 1)).tokens[:, 0].tolist()
        return first, next((one for one in reversed(before) if one != first), second)

    @cached_property
    def ways(self) -> np.ndarray:
        """Their probabilities after each layer [layers + 1, pieces]."""
        given = self.ids, self.path, self.followed, self.temperature
        return to_numpy(whole.shares_after(*given))

    @property
    def heads(self) -> np.ndarray:
        """The attention of the lit piece in the chosen layer [h,s]."""
        seen = self.reading.attention[self.layer, 0, :, self.path, : self.path + 1]
        return to_numpy(seen)

    def written(self) -> str:
        """The text with the next piece, which is the likeliest or drawn at every call."""
        logits = self.reading.logits[:, -1]
        token = chosen(logits, self.temperature if self.drawn else 0, torch.default_generator)
        ids = [*self.ids, int(token)]
        if not self._text(ids).endswith(UNFINISHED):
            return self._text(ids)
        rest = whole.written(tuple(ids), MOST_PARTS)  # until its character is whole
        found = (self._text([*ids, *rest[:n]]) for n in range(1, MOST_PARTS + 1))
        return next((one for one in found if not one.endswith(UNFINISHED)), self._text(ids))

    def _text(self, ids: Sequence[int]) -> str:
        return self.text + self.model.config.text(list(ids))[len(self._own) :]

    @cached_property
    def _own(self) -> str:
        return self.model.config.text(list(self.ids))


def said(piece: str) -> str:
    """Return a piece without the sign of the space before it; a space alone stays."""
    return piece.removeprefix(SPACE) or piece
