"""One head of each layer over the same tokens, on the same limits.

Of two trained models it says where their heads look, too, and what comes next.
"""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures, ops
from mla_engine.language_model.answers import answer
from ui.pages.compare.side import Side, mend
from ui.pages.compare.topic import Topic
from ui.parts import charts, maps, prose, reader
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.parts.maps.columns import breaks, columns, left_out
from ui.parts.maps.controls import text_controls
from ui.parts.maps.reading import beyond, named, quoted, reading
from ui.parts.maps.run import Run, run
from ui.parts.maps.view import short, words
from ui.settings import state
from ui.settings.page import Functions
from ui.settings.parsers import Setting, one_of, whole
from ui.sources import checkpoint
from ui.sources.model import Model
from ui.streamlit_internals import DeltaGenerator
from ui.words import text as texts
from ui.words.numbers import count, digits, share, signed
from ui.words.text import listed, safe, t

SETTINGS = {
    "vs_map": Setting("attention", one_of("attention", "scores"), "segmented_control"),
    "vs_head": Setting(0, whole(0, 127), "slider"),
}
MAP, LOW = 540, 400  # pixels
Cell = tuple[int, int]  # query and key


class MapsTopic(Topic):
    """The map of one head of each, and the cell that is framed in both."""

    name = "maps"
    settings = ("vs_map", "vs_head")

    def __init__(self, model: Model, a: Side, b: Side) -> None:
        super().__init__(model, a, b)
        self.text = state.chosen("attention_maps")
        self.words = words(self.text)
        self.kind = "weights" if self.linear else self.chosen.map  # or "attention", "scores"

    def head_of(self, side: Side) -> int:
        """Return the chosen head, or the side's last."""
        return min(self.chosen.head, side.config.n_heads - 1)

    def _run(self, side: Side, heads: tuple[int, ...]) -> Run:
        return run(side.config, side.form.symbols, self.words, side.source, heads)

    def look(self) -> str:
        """Return the sentence on what to look at; of trained models it stands below the maps."""
        return "" if self.trained else super().look()

    def draw(self) -> None:
        """Draw both maps, their controls beside them, and what differs below."""
        *places, beside, below = self._places()
        with beside:
            self._controls()
            prose.note(self._weights())
        with st.spinner(t("compare.running")):
            runs = [self._run(side, (self.head_of(side),)) for side in self.sides]
        a, b = (head_map(found, self.kind) for found in runs)
        limit, asked = figures.shared_limit(a, b), self._asked()
        same = len(set(map(columns, runs))) == 1
        cell = asked or (_furthest_apart(a, b) if same else None)
        for place, side, found, values in zip(places, self.sides, runs, (a, b), strict=True):
            with place:
                prose.say(f"**{side.shown_name}**{prose.weights_mark(side.source)}")
                self._map(side, found, values, limit, cell)
        with below:
            if not (self.trained and self.kind == "attention"):  # the first word sees itself only
                prose.note(t(f"compare.limits_{self.kind}", limit=digits(limit)))
            prose.say(self._expected(asked) if asked else self._apart(cell, columns(runs[0]), a, b))
            for side in self.sides if self.trained else ():
                prose.note(texts.named(side.letter, self._heads(side)))
            if long := [told for one in self.sides if (told := beyond(one.source, self.words))]:
                prose.say(long[0])

    def _places(self) -> list[DeltaGenerator]:
        """Return the places of both maps, their controls and sentences; trained maps in a pair."""
        if self.trained:
            pair, below = st.columns(2, gap="medium"), st.container()
            return [*pair, st.container(), below]
        return [*st.columns((7, 7, 4), gap="medium"), st.container()]

    def _controls(self) -> None:
        """Draw the choice of attention or logits, of the head, and of the text that is read."""
        what, text, more = st.columns(3, gap="large") if self.trained else [nullcontext()] * 3
        with what:
            if self.linear:
                prose.note(t("compare.no_logits"))
            else:
                control("vs_map")
            last = max(side.config.n_heads for side in self.sides) - 1
            if last:
                control("vs_head", most=last)
        with text:
            text_controls(self.text, mend)
        with more:
            if self.model.is_trained:
                reader.layer_beside(self.model)
                reader.examples_row()

    def _weights(self) -> str:
        """Return whose weights the maps are of, and what becomes of a head that a side lacks."""
        if any(side.trained for side in self.sides):
            return self._trained_weights()
        real = [side for side in self.sides if side.source == self.model.checkpoint]
        if not real:
            return t("compare.random")
        name = checkpoint.name(self.model.checkpoint)
        drawn = [side.letter for side in self.sides if side not in real]
        if not drawn:
            return t("compare.both_real", name=name)
        return t("compare.one_real", real=real[0].shown_name, name=name, drawn=drawn[0])

    def _trained_weights(self) -> str:
        layer, (a, b) = count(self.model.source.layer), self.sides
        if not self.trained:
            real, drawn = (a, b) if a.trained else (b, a)
            return t("compare.one_trained", real=real.letter, drawn=drawn.letter, layer=layer)
        same = a.source == b.source
        return t("compare.one_model" if same else "compare.both_trained", layer=layer)

    def _map(
        self, side: Side, found: Run, values: np.ndarray, limit: float, cell: Cell | None
    ) -> None:
        height = maps.charts.fitting(self.words, LOW, MAP) if self.trained else MAP
        head = self.head_of(side)
        options = {"height": height, "words": map_words(), "cell": cell, "head": str(head)}
        options |= {"left_out": left_out(found, found.mask), "breaks": breaks(found)}
        names = self.words, columns(found)
        if self.kind == "attention":
            name = t("compare.map_attention")
            figure = partial(figures.attention_map, values, *names, name=name, **options)
        else:
            if self.kind == "weights":  # most of them would print 0.00
                options["numbers"] = False
            name = t("compare.score" if self.kind == "scores" else "compare.weight")
            options |= {"limit": limit, "name": name}
            figure = partial(figures.score_map, values, *names, **options)
        alt = t(f"compare.alt_{self.kind}", side=side.name, head=head, limit=digits(limit))
        data = partial(_numbers, found, self.kind)
        charts.show(figure, f"chart:compare_{side.letter}", alt=alt, data=data)

    def _apart(
        self, cell: Cell | None, names: tuple[str, ...], a: np.ndarray, b: np.ndarray
    ) -> str:
        """Return where the two maps differ most, by its names, and both numbers there.

        Or, without a cell, that their columns are not the same.
        """
        if cell is None:
            return t("compare.other_columns")
        query, key = (safe(short(names[place])) for place in cell)
        values = {"a": signed(float(a[cell])), "b": signed(float(b[cell]))}
        return t("compare.apart", query=query, target=key, **values)

    def _asked(self) -> Cell | None:
        """Return the last word and the one that decides what comes next; None where none does."""
        found = answer(self.words) if self.trained else None
        return (len(self.words) - 1, found.place) if found else None

    def _expected(self, cell: Cell) -> str:
        """Return how much of the last word's attention goes to the cell's, and what comes next."""
        query, key = (named(self.words, place) for place in cell)
        values = {"query": query, "target": key}
        for side in self.sides:
            letter, head = side.letter.lower(), self.head_of(side)
            given = float(self._every_head(side)[(head, *cell)])
            values |= {f"head_{letter}": count(head), letter: share(given)}
        read = [reading(side.source, self.words, cell[0]) for side in self.sides]
        a, b = (one.expected for one in read)
        values |= {"next_a": quoted(a), "next_b": quoted(b)}
        return t(f"compare.same_{'next' if a == b else 'query'}", **values)

    def _heads(self, side: Side) -> str:
        """Return each head's favourite place, from the last word."""
        query = len(self.words) - 1
        each = (
            t(
                "compare.head_looks",
                head=count(head),
                target=named(self.words, int(row.argmax())),
                share=share(float(row.max())),
            )
            for head, row in enumerate(self._every_head(side)[:, query])
        )
        return t("compare.heads_look", query=named(self.words, query), each=listed(each))

    def _every_head(self, side: Side) -> np.ndarray:
        """Return the attention of all heads of a side [h,t,s]."""
        return self._run(side, tuple(range(side.config.n_heads))).attention(True, 1.0)

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it, a map's maker among them."""
        made = [
            side.form.read or (side.form.columns if side.config.sinks else ops.softmax)
            for side in self.sides
        ]
        return tuple(dict.fromkeys((*super().code(), *made)))


def head_map(found: Run, kind: str) -> np.ndarray:
    """Return attention, weights or logits [t,s] of the one head that was run, masked cells NaN."""
    values = found.logits if kind == "scores" else found.attention(True, 1.0)
    return np.where(found.mask, values[0], np.nan)


def _furthest_apart(left: np.ndarray, right: np.ndarray) -> Cell:
    """Return query and key of the cell where two maps differ most."""
    row, column = np.unravel_index(np.nanargmax(np.abs(left - right)), left.shape)
    return int(row), int(column)


def _numbers(found: Run, kind: str) -> pd.DataFrame:
    return charts.named(head_map(found, kind), found.words, columns(found))
