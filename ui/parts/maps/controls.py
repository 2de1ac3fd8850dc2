"""The controls of the attention maps' page, which hold also where nothing could be run."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from mla_engine import figures
from mla_engine.studies.words import MAX_CHARACTERS, MAX_WORDS, TextError
from ui.engine import model
from ui.engine import real_layer as source
from ui.parts import bridge
from ui.parts.maps.view import View, mend, short
from ui.settings import state
from ui.settings.parsers import sentence
from ui.words.numbers import count
from ui.words.text import t

TOKEN_LADDER = (0, 16, 32, 64, 128, 256, 512, 1024)
RUN_LADDER = (0, 1, 2, 4, 8, 16, 32, 64, 128)
TEMPERATURES = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)


def choice(
    widget: Callable[..., Any], label: str, name: str, shown: object, *args: object, **options: Any
) -> None:
    """Like `state.control`, for what is not always shown as it is set; `keep` takes a choice."""
    key = f"{name}:{state.settings()['lang']}"
    st.session_state[key] = shown
    keep = options.pop("keep", lambda value: state.change(**{name: value}))
    widget(label, *args, key=key, on_change=lambda: keep(st.session_state[key]), **options)


def _keep_text(typed: str) -> None:
    """After an edit: a good text is set, another one stays in the box alone."""
    if _refusal(typed):
        state.change(map_text=state.Kept.beside(state.settings()["map_text"], typed))
    else:
        state.change(map_text=typed)
        mend()


def _refusal(text: str) -> str:
    """Why the text is beyond the limits; empty if it is not."""
    try:
        sentence(text)
    except TextError as error:
        values = {name: count(value) for name, value in error.values.items()}
        return t(f"attention_maps.{error.key}", **values)
    return ""


def text_controls() -> None:
    """The text, or the number of made-up words that stand in for a longer one."""
    s = state.settings()
    if source.chosen():  # its text stands beside the model
        return
    shown = getattr(s["map_text"], "typed", s["map_text"])
    limits = {"words": count(MAX_WORDS), "characters": count(MAX_CHARACTERS)}
    choice(
        st.text_area,
        t("attention_maps.text", **limits),
        "map_text",
        shown,
        placeholder=t("maps.example"),
        height=100,
        disabled=bool(s["map_generated"]),
        keep=_keep_text,
    )
    if (reason := _refusal(shown)) and not s["map_generated"]:
        st.error(reason)
    state.control(
        st.select_slider,
        t("attention_maps.generated"),
        "map_generated",
        sorted({*TOKEN_LADDER, s["map_generated"]}),
        format_func=lambda n: count(n) if n else t("attention_maps.from_text"),
        then=mend,
    )


def layer_controls() -> None:
    """Variant, head, mask, temperature and the seed where weights are drawn."""
    s, n_heads = state.settings(), model.sizes()["n_heads"]
    choice(
        st.selectbox,
        t("attention_maps.variant"),
        "variant",
        model.present_variant(),
        model.variants(),
        format_func=lambda code: t(f"common.{code}"),
    )
    head, seed = st.columns(2)
    with head:
        head_control()
    if not source.chosen():
        with seed:
            state.control(st.number_input, t("attention_maps.seed"), "seed", 0, 9999)
    state.control(
        st.select_slider,
        t("attention_maps.temperature"),
        "map_temperature",
        sorted({*TEMPERATURES, s["map_temperature"]}),
        format_func=lambda value: f"{value:g}",
    )
    state.control(st.toggle, t("attention_maps.causal"), "map_causal")
    state.control(
        st.select_slider,
        t("attention_maps.run_heads"),
        "map_run",
        sorted({n for n in RUN_LADDER if n <= n_heads} | {s["map_run"]}),
        format_func=lambda n: count(n) if n else t("attention_maps.automatic"),
    )


def head_control() -> None:
    """The head by its number; a click on a tile chooses as well."""
    last = model.sizes()["n_heads"] - 1
    label = t("attention_maps.head_of", last=count(last))
    state.control(st.number_input, label, "map_head", 0, last)


def cell_controls(tokens: Sequence[str]) -> None:
    """The chosen cell by its words; a click on a map chooses as well."""
    numbered = [f"{i} · {short(word)}" for i, word in enumerate(tokens)]
    for column, name in zip(st.columns(2), ("query", "key"), strict=True):
        with column:
            state.control(
                st.selectbox,
                t(f"attention_maps.{name}_of_cell"),
                f"map_{name}",
                range(len(tokens)),
                format_func=numbered.__getitem__,
            )


def listen(shown: View) -> None:
    """Let a click on a tile choose the head, and a click on any map the cell that it shows."""
    heads = shown.run.heads
    grid = figures.TileGrid.of(shown.attention.shape)

    def clicked(cell: dict) -> None:
        if cell["chart"] == "heads":
            tile = grid.tile_at(cell["x"], cell["y"])
            if tile is not None:
                state.change(map_head=heads[tile])
        else:
            values = shown.matrix(cell["chart"])
            query, key = figures.cell_at(values, cell["x"], cell["y"])
            state.change(map_query=query, map_key=key)

    bridge.listen("map_clicks", on_cell=clicked)
