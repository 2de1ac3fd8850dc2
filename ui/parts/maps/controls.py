"""The controls beside maps, which hold also where nothing could be run."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType, SimpleNamespace

import streamlit as st

from mla_engine import figures
from mla_engine.studies.words import MAX_CHARACTERS, MAX_WORDS, TextError
from ui.parts import reader
from ui.parts.control import control
from ui.parts.maps.charts import BESIDE, LARGE
from ui.parts.maps.view import Maps, short
from ui.settings import state
from ui.settings.parsers import sentence
from ui.settings.visit import visit
from ui.sources import checkpoint
from ui.sources.model import present
from ui.words.numbers import count
from ui.words.text import t

TOKEN_LADDER = (0, 16, 32, 64, 128, 256, 512, 1024)


def text_controls(
    s: SimpleNamespace, then: Callable[[], object], *, longer: Sequence[int] = ()
) -> None:
    """Draw the text, or the number of made-up words that stand in for a longer one.

    Args:
        s: the settings of maps, as a page hands them in, by their short names.
        then: runs after another text or another number of words.
        longer: numbers of words beyond those whose maps are run whole.
    """
    if checkpoint.chosen():  # its text stands beside the model
        return
    if present().is_trained:
        reader.sentence(then=then)
        return
    _text(s, then)
    control("map_generated", options=[*TOKEN_LADDER, *longer], write=_generated, then=then)


def _generated(n: int) -> str:
    return count(n) if n else t("maps.from_text")


def _text(s: SimpleNamespace, then: Callable[[], object]) -> None:
    """Draw the box of the text; one beyond the limits stays only in the box."""
    shown, resting = getattr(s.text, "typed", s.text), bool(s.generated)
    limits = {"words": count(MAX_WORDS), "characters": count(MAX_CHARACTERS)}

    def keep(typed: str) -> None:
        refused = _refusal(typed)
        state.change(map_text=state.Kept.beside(s.text, typed) if refused else typed)
        if not refused:
            then()

    control(
        "map_text",
        label=t("maps.text", **limits),
        shown=shown,
        placeholder=t("maps.example"),
        height=100,
        disabled=resting,
        keep=keep,
    )
    if (reason := _refusal(shown)) and not resting:
        st.error(reason)


def _refusal(text: str) -> str:
    """Return why the text is beyond the limits; empty if it is not."""
    try:
        sentence(text)
    except TextError as error:
        values = {name: count(value) for name, value in error.values.items()}
        return t(f"maps.{error.key}", **values)
    return ""


def head_control() -> None:
    """Draw the choice of the head; a click on a tile chooses as well."""
    last = present().sizes["n_heads"] - 1
    control("map_head", label=t("maps.head_of", last=count(last)), most=last)


def cell_controls(
    rows: Sequence[str], columns: Sequence[str], places: Sequence[AbstractContextManager] = ()
) -> None:
    """Draw the choice of a cell by its words; a click on a map chooses as well.

    Args:
        rows: the words of the queries.
        columns: of the keys.
        places: where the two stand, by default here.
    """
    sides = {"query": rows, "key": columns}
    for (name, words), place in zip(sides.items(), places or (nullcontext(),) * 2, strict=True):
        numbered = [f"{i} · {short(word)}" for i, word in enumerate(words)]
        with place:
            control(
                f"map_{name}",
                label=t(f"maps.{name}_of_cell"),
                options=range(len(words)),
                write=numbered.__getitem__,
            )


def listen(maps: Maps, others: Mapping[str, Callable[[dict], None]] = MappingProxyType({})) -> None:
    """Let a click on a tile choose the head, and a click on any map the cell that it shows.

    `others` take the clicks on charts of other names.
    """
    grid = figures.TileGrid.of(maps.attention.shape)

    def clicked(cell: dict) -> None:
        if cell["chart"] in others:
            others[cell["chart"]](cell)
        elif cell["chart"] == "heads":
            tile = grid.tile_at(cell["x"], cell["y"])
            if tile is not None:
                state.change(map_head=maps.run.heads[tile])
        else:
            height = LARGE if cell["chart"] == "large" else BESIDE
            place = cell["x"], cell["y"]
            query, key = figures.cell_at(maps.matrix(cell["chart"]), *place, height=height)
            state.change(map_query=query, map_key=key)

    visit().on_cell = clicked
