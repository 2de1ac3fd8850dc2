"""The pictures of a state: what is read of it, itself, and what each word changes in it."""

from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.figures import symbol_html
from mla_engine.figures.axes import MAX_LABEL_LENGTH, safe
from mla_engine.late import Late
from ui.parts import charts, prose
from ui.parts.figure_words import map_words
from ui.parts.maps import axes
from ui.parts.maps.charts import LARGE, PANEL
from ui.parts.maps.over_time import view as states
from ui.parts.maps.over_time import words
from ui.parts.maps.view import Maps
from ui.parts.tables import named
from ui.words.numbers import fixed
from ui.words.text import t

pd = Late("pandas")

ROW_PIXELS, AROUND = 26, 130  # of a word's bars, and of what stands around them


def weights(maps: Maps) -> None:
    """How much of each word's value each word reads of the state."""
    tokens, values = maps.run.words, maps.matrix("attention")
    fig = partial(
        figures.score_map,
        values,
        tokens,
        tokens,
        head=str(maps.head),
        name=t("maps.state_weight"),
        cell=(maps.query, maps.key),
        height=LARGE,
        numbers=False,
        words=map_words(),
    )
    prose.say(words.say(maps, "weights"))
    table = partial(named, values, tokens, tokens)
    charts.show(fig, "chart:weights", alt=_alt(maps, "weights"), data=table, clicks="weights")


def state(maps: Maps) -> None:
    """The state after the chosen word, on the limits that all words share."""
    every = states.states(maps)
    values = every[maps.query]
    sides = [
        [f"{letter}{place}" for place in range(n)]
        for letter, n in zip("kv", values.shape, strict=True)
    ]
    fig = partial(
        figures.tensor_map,
        values,
        axes=_axes(maps, "k", "v"),
        name=symbol_html("S"),
        limit=figures.shared_limit(every),
        height=LARGE,
        numbers=False,
        words=map_words(),
    )
    prose.say(words.say(maps, "after"))
    table = partial(named, values, *sides)
    charts.show(fig, "chart:state", alt=_alt(maps, "after"), data=table)


def changes(maps: Maps) -> None:
    """What each word keeps of the state, and what it puts in and erases."""
    left, right = st.columns(2, gap="large")
    with left:
        _decay(maps)
    with right:
        _writes(maps)
    prose.note(words.say(maps, "exact"))


def _decay(maps: Maps) -> None:
    tokens, values = maps.run.words, states.field(maps, "a")
    fig = partial(
        figures.share_map,
        values,
        axes=(t("maps.entries_words"), *_axes(maps, "k")),
        name=symbol_html("a"),
        rows=tokens,
        height=PANEL,
        numbers=False,
        words=map_words(),
    )
    prose.say(words.say(maps, "decay"))
    channels = [f"k{place}" for place in range(values.shape[1])]
    table = partial(named, values, tokens, channels)
    charts.show(fig, "chart:decay", alt=_alt(maps, "decay"), data=table)


def _writes(maps: Maps) -> None:
    rows, b = states.shown(maps), states.field(maps, "b")
    amounts = dict(zip(("put", "erased"), states.amounts(maps), strict=True))
    fig = partial(
        figures.bars,
        [_row(maps, row, float(b[row])) for row in rows],
        {t(f"maps.state_bar_{name}"): all_[rows] for name, all_ in amounts.items()},
        axis=t("maps.state_length"),
        stacked=False,
        limits=(0, 1.05 * float(np.max(list(amounts.values()))) or 1.0),
        height=AROUND + ROW_PIXELS * max(len(rows), 4),
    )
    prose.say(words.say(maps, "writes"))
    columns = {"b": b} | amounts
    table = partial(named, np.stack([*columns.values()], axis=1), maps.run.words, columns)
    charts.show(fig, "chart:writes", alt=_alt(maps, "writes"), data=table)


def _row(maps: Maps, row: int, b: float) -> str:
    word = safe(maps.run.words[row], MAX_LABEL_LENGTH)
    return t("maps.state_row", word=word, b=fixed(b, 2))


def _axes(maps: Maps, *letters: str) -> tuple[str, ...]:
    return tuple(axes.named(maps.run.config, letter) for letter in letters)


def _alt(maps: Maps, chart: str) -> str:
    plain = words.facts(maps) | words.plain(maps)
    return t(f"maps.state_alt_{chart}", **plain)
