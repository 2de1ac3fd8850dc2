"""A text too long for its whole map: one head, pooled, and any part of it exact."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import costs, figures, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.mechanism import Form
from mla_engine.studies import long_text
from mla_engine.studies.words import generated_words, hidden_states
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.pages.attention_maps import controls
from ui.pages.attention_maps.view import nearest
from ui.parts import charts, prose
from ui.parts.charts import map_words, named
from ui.parts.control import control
from ui.parts.maps.charts import LARGE
from ui.parts.maps.view import short
from ui.parts.waits import PATIENCE_SECONDS
from ui.settings import state
from ui.settings.visit import visit
from ui.sources import Drawn, layers, work
from ui.sources.model import Model, present
from ui.streamlit_internals import DeltaGenerator
from ui.words.numbers import count, share, tied_size
from ui.words.text import safe, t

SIDE = 64  # words of the exact part, down and across
WIDTH = np.dtype(np.float32).itemsize
BRIGHT = 0.99  # of the blocks are below the darkest colour
Spans = list[tuple[int, int]]

Told = Callable[[int, int], object]
"""(words read, of how many)"""


@dataclass(frozen=True)
class Text:
    """One head over so many made-up words: what of it is kept goes by this."""

    config: AttentionConfig
    source: Drawn
    head: int
    tokens: int

    def hidden(self, first: int, last: int) -> torch.Tensor:
        """Return the layer's input [1,t,d] for words `first` to `last` - 1."""
        words = generated_words(self.tokens)[first:last]
        h = hidden_states(words, self.source.seed, self.config.d_model)
        return torch.from_numpy(h)[None].to(DEVICE)


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
        """The bytes that are kept of the text: keys and values of the head."""
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


def chosen(told: Told = lambda _done, _of: None) -> LongView:
    """Return the text and cell that the settings ask for, read if that was not done yet.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    s, model = state.chosen("attention_maps"), present()
    config = model.config()
    text = Text(config, model.drawn, s.head, s.generated)
    form = _form(config).name
    every_key = work.with_every_key(config)
    products = costs.prefill(every_key, text.tokens, form, heads=[text.head]).total_flops
    operations = work.drawing(config, [text.head], model.drawn) + products
    work.require(operations, work.FEWER_WORDS, work.MOST_IN_CHUNKS)
    _read(text, told)
    return LongView(model, text, s.query, s.key)


def _form(config: AttentionConfig) -> Form:
    """Return the form in which a layer reads a long text."""
    mechanism = mechanisms.of(config)
    return mechanism.form(mechanism.decoded_by[long_text.kept_in(config).kind])


@shared_cache.cached(key=lambda text, _told=None: text)
def _read(text: Text, told: Told = lambda _done, _of: None) -> long_text.LongMap:
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(text.config, text.source, (text.head,))
        done = lambda n: told(n, text.tokens)  # noqa: E731 - one of two arguments is known
        return long_text.long_map(layer, text.hidden, text.tokens, done)


@shared_cache.cached
def _rows(text: Text, first: int, last: int) -> np.ndarray:
    """The attention of some queries to all keys up to the last of them [t,s], read-only."""
    read = _read(text)
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(text.config, text.source, (text.head,))
        rows = layers.to_numpy(long_text.rows(layer, text.hidden, read, first, last))
    rows.flags.writeable = False
    return rows


def facts(view: LongView) -> dict[str, str]:
    """Return the values that the page's sentences have, as plain text."""
    tokens, (top, left) = view.text.tokens, view.corner
    return {
        "tokens": count(tokens),
        "block": count(view.block),
        "head": count(view.text.head),
        "held": tied_size(view.held_bytes),
        "whole": tied_size(tokens**2 * WIDTH),
        "query": short(view.words[view.query]),
        "target": short(view.words[view.key]),
        "at_query": count(view.query),
        "at_key": count(view.key),
        "share": share(view.share),
        "limit": share(_limit(view.pooled)),
        "top": count(top),
        "bottom": count(min(top + SIDE, tokens) - 1),
        "left": count(left),
        "right": count(min(left + SIDE, tokens) - 1),
        "variant": t(f"common.{view.model.variant}"),
    }


def say(view: LongView, key: str) -> str:
    """A text of the page, safe as Markdown."""
    plain = facts(view)
    shown = plain | {name: safe(plain[name]) for name in ("query", "target")}
    return t(f"attention_maps.long_{key}", **shown)


def progress(place: DeltaGenerator) -> Told:
    """A bar at `place`, from the first moment that the reading takes a while."""
    started = monotonic()

    def told(done: int, every: int) -> None:
        if done == every:
            place.empty()
        elif monotonic() - started > PATIENCE_SECONDS:
            said = {"done": count(done), "all": count(every)}
            place.progress(done / every, t("attention_maps.long_reading", **said))

    return told


def draw_blocks(view: LongView) -> None:
    """The whole map by blocks; the frame is where the exact part lies."""
    prose.say(say(view, "blocks") + prose.weights_mark(view.text.source))
    edges = _spans(0, view.text.tokens, view.block)
    table = partial(_of_blocks, view)
    _show(view, "blocks", view.pooled, (edges, edges), limit=_limit(view.pooled), table=table)


def draw_part(view: LongView) -> None:
    """The part around the chosen cell, every cell one word to one word."""
    prose.say(say(view, "part"))
    top, left = view.corner
    values = view.part
    edges = _spans(top, top + values.shape[0], 1), _spans(left, left + values.shape[1], 1)
    table = partial(_of_part, view)
    limit = float(values.max()) or 1.0
    _show(view, "part", values, edges, limit=limit, tokens=view.words, table=table)
    prose.note(say(view, "where"))


def _limit(pooled: np.ndarray) -> float:
    """The share of the darkest colour: the first words, which see few others, are beyond it."""
    seen = pooled[np.tri(len(pooled), dtype=bool)]
    return float(np.quantile(seen, BRIGHT)) or 1.0


def _spans(first: int, last: int, step: int) -> Spans:
    return [(a, min(a + step, last) - 1) for a in range(first, last, step)]


def _show(
    view: LongView,
    chart: str,
    shares: np.ndarray,
    edges: tuple[Spans, Spans],
    *,
    limit: float,
    table: charts.Table,
    tokens: tuple[str, ...] | None = None,
) -> None:
    drawing = partial(
        figures.span_map,
        shares,
        *edges,
        tokens=tokens,
        limit=limit,
        head=count(view.text.head),
        name=t("maps.share"),
        cell=(view.query, view.key),
        height=LARGE,
        words=map_words(),
    )
    alt = t(f"attention_maps.long_alt_{chart}", **facts(view))
    charts.show(drawing, f"chart:long_{chart}", alt=alt, data=table, clicks=f"long_{chart}")


def _of_blocks(view: LongView) -> pd.DataFrame:
    names = [f"{a}-{b}" for a, b in _spans(0, view.text.tokens, view.block)]
    return named(np.where(np.tri(len(names), dtype=bool), view.pooled, np.nan), names, names)


def _of_part(view: LongView) -> pd.DataFrame:
    values, corner = view.part, view.corner
    names = [
        [f"{place} {view.words[place]}" for place in range(first, first + side)]
        for first, side in zip(corner, values.shape, strict=True)
    ]
    return named(values, *names)


def cell_controls() -> None:
    """The query and the key in whose part of the map the reader looks."""
    last = state.chosen("attention_maps").generated - 1
    for name in ("query", "key"):
        label = t(f"attention_maps.long_{name}")
        control(f"map_{name}", widget="slider", label=label, most=last, then=nearest)


def listen(view: LongView) -> None:
    """Let a click on a block open its largest share, and one on the exact part choose the cell."""

    def clicked(cell: dict) -> None:
        last = view.text.tokens - 1
        query, key = (min(max(round(cell[axis]), 0), last) for axis in "yx")
        if cell["chart"] == "long_blocks":
            query, key = view.largest_of(query, key)
        state.change(map_query=query, map_key=key)

    visit().on_cell = clicked


def title() -> str:
    """Return the title."""
    return t("attention_maps.title_long")


def lead(view: LongView) -> tuple[str, str]:
    """Return the number of cells, and the sentence about the map."""
    return t("attention_maps.long_cells", n=count(view.text.tokens**2)), say(view, "line")


def look(_view: LongView) -> str:
    """Nothing: it is said below the map."""
    return ""


def question(_view: LongView) -> None:
    """Nothing is asked of a long text."""


def draw(view: LongView) -> None:
    """Draw the map by blocks, a part of it exact, and the controls beside them."""
    with _columns() as (blocks, part):
        with blocks:
            draw_blocks(view)
        with part:
            draw_part(view)
    prose.say(say(view, "look"))
    listen(view)


@contextmanager
def _columns() -> Iterator[tuple[DeltaGenerator, DeltaGenerator]]:
    with st.container(key="beside"):
        blocks, part, side = st.columns((8, 8, 5), gap="medium")
    with side:
        controls.run()
        cell_controls()
    yield blocks, part


def refused(error: ValueError) -> None:
    """Draw why the text is not read, and the controls below."""
    prose.refused(error)
    with _columns():
        pass
