"""A layer that keeps a state in the place of keys: what is in it, word after word."""

from functools import partial

import numpy as np
import streamlit as st
import torch

from mla_engine import figures
from mla_engine.delta import forms
from mla_engine.figures import symbol_html
from mla_engine.figures.axes import MAX_LABEL_LENGTH, safe
from ui.engine import shared_cache
from ui.parts import charts, prose
from ui.parts.charts import map_words, named
from ui.parts.control import control
from ui.parts.maps import axes
from ui.parts.maps.charts import BESIDE, LARGE
from ui.parts.maps.run import WIDTH, Run
from ui.parts.maps.view import Maps, short
from ui.parts.maps.words import facts as plain
from ui.parts.maps.words import shown
from ui.settings import state
from ui.settings.visit import visit
from ui.sources.layers import to_numpy
from ui.words.numbers import count, digits, fixed, number, signed
from ui.words.text import t

ROW_PIXELS, AROUND = 26, 130  # of a word's bars, and of what stands around them
ROWS = 16  # words whose writes are drawn, up to the chosen one


def field(maps: Maps, code: str) -> np.ndarray:
    """Return a field of the trace of the chosen head, a row a word [t] or [t,k]."""
    return maps.run.tensors[code][0, :, maps.place]


def states(maps: Maps) -> np.ndarray:
    """Return the state of the chosen head after each word [t,k,v]."""
    return _states(maps.run, maps.place)


@shared_cache.cached
def _states(run: Run, place: int) -> np.ndarray:
    rows = [torch.tensor(run.tensors[code][:, :, place]) for code in ("k_D", "a", "written")]
    shared_cache.evict_for(WIDTH * 2 * rows[0].numel() * rows[2].shape[-1])
    empty = rows[0].new_zeros(1, rows[0].shape[-1], rows[2].shape[-1])
    found = to_numpy(forms.states(run.layer, *rows, empty)[0])
    found.flags.writeable = False
    return found


def amounts(maps: Maps) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of what each word puts into the state, and of what it erases there [t]."""
    erased = field(maps, "erased")
    put = field(maps, "written") + erased
    return np.linalg.norm(put, axis=-1), np.linalg.norm(erased, axis=-1)


def misfit(maps: Maps) -> float:
    """Return the largest gap between the values weighed by the map and the reading of the state.

    Over all words of the text and channels of the head.
    """
    read = maps.attention[maps.place].astype(np.float64) @ field(maps, "v_D")
    return float(np.abs(read - field(maps, "o")).max())


def written(maps: Maps) -> range:
    """Return the words whose writes are drawn: the last ones up to the chosen one."""
    return range(max(0, maps.query + 1 - ROWS), maps.query + 1)


def facts(maps: Maps) -> dict[str, str]:
    """Return the values of the sentences, as Markdown."""
    config, word = maps.run.config, maps.query
    put, erased = amounts(maps)
    b = float(field(maps, "b")[word])
    rows = written(maps)
    return shown(maps) | {
        "seen": count(word + 1),
        "rows": count(config.d_head),
        "columns": count(config.d_value),
        "state": count(config.d_head * config.d_value),
        "tail": count(config.conv_width - 1),
        "weight": signed(maps.share),
        "put": digits(float(put[word])),
        "erased": digits(float(erased[word])),
        "b": digits(b),
        "kept": digits(float(field(maps, "a")[word].mean())),
        "most": digits(float(np.abs(states(maps)[word]).max())),
        "misfit": number(misfit(maps)),
        "first": count(rows[0] + 1),
        "last": count(rows[-1] + 1),
    }


def say(maps: Maps, key: str) -> str:
    """Return a text of these pictures, marked where its weights are random."""
    return t(f"maps.state_{key}", **facts(maps)) + prose.weights_mark(maps.run.source)


def weights(maps: Maps) -> None:
    """Draw how much of each word's value each word reads from the state."""
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
    prose.say(say(maps, "weights"))
    table = partial(named, values, tokens, tokens)
    charts.show(fig, "chart:weights", alt=_alt(maps, "weights"), data=table, clicks="weights")


def after(maps: Maps) -> None:
    """Draw the state after the chosen word, on the limits that all words share."""
    every = states(maps)
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
    prose.say(say(maps, "after"))
    table = partial(named, values, *sides)
    charts.show(fig, "chart:state", alt=_alt(maps, "after"), data=table)


def changes(maps: Maps) -> None:
    """Draw what each word keeps of the state, and what it puts in and erases."""
    left, right = st.columns(2, gap="large")
    with left:
        _decay(maps)
    with right:
        _writes(maps)
    prose.note(say(maps, "exact"))


def _decay(maps: Maps) -> None:
    tokens, values = maps.run.words, field(maps, "a")
    fig = partial(
        figures.share_map,
        values,
        axes=(t("maps.entries_words"), *_axes(maps, "k")),
        name=symbol_html("a"),
        rows=tokens,
        height=BESIDE,
        numbers=False,
        words=map_words(),
    )
    prose.say(say(maps, "decay"))
    channels = [f"k{place}" for place in range(values.shape[1])]
    table = partial(named, values, tokens, channels)
    charts.show(fig, "chart:decay", alt=_alt(maps, "decay"), data=table)


def _writes(maps: Maps) -> None:
    rows, b = written(maps), field(maps, "b")
    lengths = dict(zip(("put", "erased"), amounts(maps), strict=True))
    fig = partial(
        figures.bars,
        [_row(maps, row, float(b[row])) for row in rows],
        {t(f"maps.state_bar_{name}"): every[rows] for name, every in lengths.items()},
        axis=t("maps.state_length"),
        stacked=False,
        limits=(0, 1.05 * float(np.max(list(lengths.values()))) or 1.0),
        height=AROUND + ROW_PIXELS * max(len(rows), 4),
    )
    prose.say(say(maps, "writes"))
    columns = {"b": b} | lengths
    table = partial(named, np.stack([*columns.values()], axis=1), maps.run.words, columns)
    charts.show(fig, "chart:writes", alt=_alt(maps, "writes"), data=table)


def _row(maps: Maps, row: int, b: float) -> str:
    word = safe(maps.run.words[row], MAX_LABEL_LENGTH)
    return t("maps.state_row", word=word, b=fixed(b, 2))


def _axes(maps: Maps, *letters: str) -> tuple[str, ...]:
    return tuple(axes.named(maps.run.config, letter) for letter in letters)


def _alt(maps: Maps, chart: str) -> str:
    return t(f"maps.state_alt_{chart}", **facts(maps) | plain(maps))


def controls(maps: Maps) -> None:
    """Draw the choice of the word whose state is read, and of the word that is looked for in it."""
    numbered = [f"{i} · {short(word)}" for i, word in enumerate(maps.run.words)]
    for name in ("query", "key"):
        control(
            f"map_{name}",
            widget="select_slider" if name == "query" else "selectbox",
            label=t(f"maps.state_{name}"),
            options=range(len(numbered)),
            write=numbered.__getitem__,
        )


def listen(maps: Maps) -> None:
    """Let a click on the map choose both words."""

    def clicked(cell: dict) -> None:
        place = cell["x"], cell["y"]
        query, key = figures.cell_at(maps.matrix("attention"), *place, height=LARGE)
        state.change(map_query=query, map_key=key)

    visit().on_cell = clicked
