"""Any tensor or weight of the run: its choice, formula, shape and picture."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from ui.pages.attention_maps.view import RUN, View
from ui.parts import charts, prose
from ui.parts.charts import map_words, named
from ui.parts.control import control
from ui.parts.maps import axes
from ui.parts.maps.charts import BESIDE
from ui.parts.maps.controls import head_control
from ui.settings.page import Panel
from ui.words.numbers import count, digits
from ui.words.text import t, tensor

TOKEN_AXES = ("t", "s")


def draw(view: View) -> None:
    """Draw the chosen tensor below its choice and its formula; one that is not there is named."""
    control("map_tensor", shown=view.tensor, options=view.tensors)
    if view.missing:
        st.caption(t("attention_maps.no_such_tensor", wanted=view.missing, shown=view.tensor))
    symbol = SYMBOLS[view.tensor]
    made = symbol.step(view.maps.run.form, sinks=view.maps.run.sinks).formula
    st.latex(f"{symbol.latex} = {made}" if made else symbol.latex)
    prose.say(_shape(view))
    _chart(view)


def _shape(view: View) -> str:
    """Return the name of the tensor below the maps, and how many numbers it has."""
    values = {"name": tensor(view.tensor), "head": count(view.maps.head)}
    said = t("attention_maps.tensor_shape", shape=_sides(view), **values)
    run = view.maps.run
    for letter, place in run.cut(view.tensor, view.maps.head).items():
        axis = axes.named(run.config, letter)
        said += " " + t("attention_maps.tensor_cut", axis=axis, place=count(place))
    return said + prose.weights_mark(view.maps.run.source)


def _sides(view: View) -> str:
    return " × ".join(count(side) for side in view.matrix.shape)


def _chart(view: View) -> None:
    """The chosen tensor of the chosen head, tokens by their words."""
    tokens = _tokens(view)
    fig = partial(
        figures.tensor_map,
        view.matrix,
        axes=tuple(axes.named(view.maps.run.config, letter) for letter in view.axes),
        name=symbol_html(view.tensor),
        rows=tokens[0],
        columns=tokens[1],
        height=BESIDE,
        words=map_words(),
    )
    largest = digits(figures.shared_limit(view.matrix))
    alt = t("attention_maps.alt_tensor", name=view.tensor, shape=_sides(view), limit=largest)
    charts.show(fig, f"tensor:{view.tensor}", alt=alt, data=partial(_table, view))


def _tokens(view: View) -> list[tuple[str, ...] | None]:
    """The words along rows and columns that stand for tokens."""
    return [view.maps.run.words if letter in TOKEN_AXES else None for letter in view.axes]


def _table(view: View) -> pd.DataFrame:
    """The numbers behind the chart, other rows and columns by letter and place."""
    names = (
        known or [f"{letter}{place}" for place in range(side)]
        for known, letter, side in zip(_tokens(view), view.axes, view.matrix.shape, strict=True)
    )
    return named(view.matrix, *names)


PANEL = Panel(
    name="tensor",
    settings=(*RUN, "map_tensor"),
    there=lambda view: isinstance(view, View),
    alone=lambda _view: head_control(),
    title=lambda _view: t("attention_maps.tensors_title"),
    draw=draw,
)
