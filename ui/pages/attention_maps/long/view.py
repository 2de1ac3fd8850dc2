"""What the page shows of a long text: a head's map by blocks, and the part around a cell."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.mechanism import Form
from mla_engine.studies import long_text
from mla_engine.studies.words import generated_words, hidden_states
from ui.engine import layers, queue, shared_cache, work
from ui.engine.model import Model, present
from ui.parts.maps.view import WHOLE
from ui.settings import state
from ui.settings.page import Note

SIDE = 64  # words of the exact part, down and across
LADDER = tuple(2**n for n in range(11, 16))  # numbers of words

Told = Callable[[int, int], object]
"""(words read, of how many)"""


@dataclass(frozen=True)
class Text:
    """One head over so many made-up words: what of it is kept goes by this."""

    config: AttentionConfig
    seed: int
    head: int
    tokens: int

    def hidden(self, first: int, last: int) -> torch.Tensor:
        """What enters the layer [1,t,d], for words `first` to `last` - 1."""
        words = generated_words(self.tokens)[first:last]
        h = hidden_states(words, self.seed, self.config.d_model)
        return torch.from_numpy(h)[None].to(layers.DEVICE)


@dataclass(frozen=True, eq=False)
class LongView:
    """A text and the cell that is looked at."""

    model: Model
    text: Text
    query: int
    key: int

    @property
    def words(self) -> tuple[str, ...]:
        """All words of the text."""
        return generated_words(self.text.tokens)

    @property
    def step(self) -> Callable:
        """The formulas by which a chunk of queries reads the cached keys and values."""
        return _form(self.text.config).decode[long_text.kept_in(self.text.config).kind]

    @property
    def block(self) -> int:
        """Words that a cell of the pooled map stands for, down and across."""
        return _read(self.text).block

    @property
    def pooled(self) -> np.ndarray:
        """The largest share of every block [t / block, s / block]."""
        return layers.to_numpy(_read(self.text).largest)

    @property
    def held_bytes(self) -> int:
        """What is kept of the text: keys and values of the head."""
        return _read(self.text).cache.nbytes

    @property
    def corner(self) -> tuple[int, int]:
        """The first query and the first key of the exact part."""
        return self.query // SIDE * SIDE, self.key // SIDE * SIDE

    @property
    def part(self) -> np.ndarray:
        """The exact attention around the cell [t,s], at most SIDE of each; 0 where it is masked."""
        first, left = self.corner
        rows = _rows(self.text, first, min(first + SIDE, self.text.tokens))
        there = rows[:, left : left + SIDE]
        width = min(SIDE, self.text.tokens - left)
        return np.pad(there, ((0, 0), (0, width - there.shape[1])))

    @property
    def share(self) -> float:
        """The attention of the cell."""
        first, left = self.corner
        return float(self.part[self.query - first, self.key - left])

    def largest_of(self, query: int, key: int) -> tuple[int, int]:
        """The query and the key of the largest share in the block that holds this cell."""
        top, left = (place // self.block * self.block for place in (query, key))
        rows = _rows(self.text, top, min(top + self.block, self.text.tokens))
        there = rows[:, left : left + self.block]
        if not there.size:  # masked
            return query, key
        row, column = np.unravel_index(there.argmax(), there.shape)
        return top + int(row), left + int(column)


def asked() -> bool:
    """Whether more words are asked for than have their maps run whole, and can be read.

    Raises:
        CheckpointError: a real model's layer that cannot be read.
    """
    if state.settings()["map_generated"] <= WHOLE:
        return False
    return can_be(present())


def can_be(model: Model) -> bool:
    """Whether a text of any length can be read: drawn weights, a cache that grows key by key."""
    form = mechanisms.form_of(model.variant)
    drawn = model.layer is None and model.trained is None
    by_key = any(one.grows_evenly for one in mechanisms.of_variant(model.variant).caches)
    return drawn and by_key and form.columns is None and form.read is None


def chosen(told: Told) -> LongView:
    """What the settings ask for, read if that was not done yet.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    s, model = state.settings(), present()
    config = model.config()
    text = Text(config, model.seed, s["map_head"], s["map_generated"])
    form = _form(config).name
    products = costs.prefill(work.as_run(config), text.tokens, form, heads=[text.head]).total_flops
    operations = work.drawing(config, [text.head], model.seed) + products
    work.require(operations, work.FEWER_WORDS, work.MOST_IN_CHUNKS)
    _read(text, told)
    return LongView(model, text, s["map_query"], s["map_key"])


def _form(config: AttentionConfig) -> Form:
    """How a layer reads a long text."""
    mechanism = mechanisms.of(config)
    return mechanism.form(mechanism.decoded_by[long_text.kept_in(config).kind])


def mend() -> list[Note]:
    """Bring head, query and key to what there is."""
    s = state.settings()
    heads, last = present().sizes["n_heads"], s["map_generated"] - 1
    return state.at_most(map_head=heads - 1, map_run=heads, map_query=last, map_key=last)


@shared_cache.cached(key=lambda text, _told=None: text)
def _read(text: Text, told: Told = lambda _done, _of: None) -> long_text.LongMap:
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(text.config, text.seed, (text.head,))
        done = lambda n: told(n, text.tokens)  # noqa: E731 - one of two arguments is known
        return long_text.long_map(layer, text.hidden, text.tokens, done)


@shared_cache.cached
def _rows(text: Text, first: int, last: int) -> np.ndarray:
    """The attention of some queries to all keys up to the last of them [t,s], read-only."""
    read = _read(text)
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(text.config, text.seed, (text.head,))
        rows = layers.to_numpy(long_text.rows(layer, text.hidden, read, first, last))
    rows.flags.writeable = False
    return rows
