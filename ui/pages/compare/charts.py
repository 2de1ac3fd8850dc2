"""The pictures of the comparison, each with its alternative text and its data."""

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.costs import held_bytes
from mla_engine.lazy import LazyModule
from ui.pages.compare import controls, run, tables, trained, words
from ui.pages.compare.side import BF16_BYTES, Side
from ui.pages.compare.tables import DIFFERS
from ui.pages.compare.view import View
from ui.parts import charts, maps, prose
from ui.parts.charts import growth_words, map_words, named
from ui.parts.maps.columns import breaks, columns, left_out
from ui.settings.sizes import CONTEXTS
from ui.streamlit_internals import DeltaGenerator
from ui.words.numbers import count, digits, size
from ui.words.text import sentences, t

pd = LazyModule("pandas")

BARS = 190  # pixels
MOST_STEPS = 30  # whose boxes have their names within half of the room
MAP, LOW = 540, 400
ENTRY_WIDTH = 110  # of the legend: two entries a row fit a phone
MIB = 2**20
LOOKS = {"mla": "mla_each"}  # of a variant that is a way of decoding by another name
PART_LOOKS = {"read": 0, "made": 2, "weights": 1, "rest": 3}
PARTS = {
    "read": ("cache_read_bytes",),
    "made": ("up_projected_bytes",),
    "weights": ("weight_bytes",),
    "rest": ("cache_written_bytes", "activation_bytes"),
}


def draw(view: View) -> None:
    """The pictures and tables of what is looked at.

    Raises:
        ValueError, MemoryBudgetError: of maps, in the engine's words.
    """
    {"flow": _flow, "costs": _costs, "maps": _maps}[view.topic](view)


def _flow(view: View) -> None:
    """Both data flows, steps that differ marked, and the sizes beside them."""
    marked = tables.differing(view)
    if max(len(side.shapes) for side in view.sides) > MOST_STEPS:  # one below the other
        with st.container(key="compare_long"):
            flows, table = st.columns((10, 4), gap="medium")
        places = flows, flows
    else:
        *places, table = st.columns((5, 5, 4), gap="medium")
    for place, side in zip(places, view.sides, strict=True):
        with place:
            prose.say(f"**{side.shown_name}**")
            _data_flow(side, marked)
    with table:
        sizes = tables.sizes(view)
        st.table(sizes)
        charts.download(lambda: sizes.rename_axis("size").reset_index(), "compare_sizes.csv")
    prose.say(words.differences(marked))
    charts.download(partial(tables.steps, view), "compare_steps.csv")


def _data_flow(side: Side, marked: dict[str, str]) -> None:
    overview = side.overview
    nodes = [
        replace(node, label=f"{DIFFERS} {node.label}") if node.code in marked else node
        for node in overview.nodes()
    ]
    cached = t("figures.cached" if side.grows else "compare.kept")
    figure = partial(figures.data_flow, nodes, overview.edges(), words={"cached": cached})
    charts.show(figure, f"flow:{side.letter}", alt=overview.alt(), file=f"flow_{side.letter}")


def _costs(view: View) -> None:
    """The cache of both over the context, what a decode step moves and computes, and the table."""
    if small := words.sizes(view):
        prose.say(small)
    growth, table = st.columns((5, 5), gap="large")
    with growth:
        _growth(view)
    with table:
        controls.context()
        _step_bars(view)
        st.table(tables.costs_of_both(view))
        notes = ["cost_note", *(["cost_state"] if view.linear else [])]
        prose.note(sentences(t(f"compare.{key}") for key in notes))
    charts.download(partial(tables.amounts, view), "compare_costs.csv")


def _growth(view: View) -> None:
    held = {
        side.letter: np.array([held_bytes(side.config, n, BF16_BYTES) for n in CONTEXTS])
        for side in view.sides
    }
    options = {"at": view.context, "unit": "MiB", "words": growth_words()}
    options["roles"] = [LOOKS.get(side.variant, side.variant) for side in view.sides]
    figure = partial(figures.cache_growth, CONTEXTS, held, **options)
    a, b = (held_bytes(side.config, view.context, BF16_BYTES) for side in view.sides)
    now = {"a": size(a), "b": size(b)}
    alt = t("compare.alt_growth", tokens=count(view.context), **now)
    charts.show(figure, "compare:growth", alt=alt)


def _step_bars(view: View) -> None:
    steps = [side.decode(view.context) for side in view.sides]
    parts = {
        t(f"compare.part_{part}"): [sum(vars(step)[f] for f in fields) / MIB for step in steps]
        for part, fields in PARTS.items()
    }
    totals = [size(step.total_bytes) for step in steps]
    options = {"axis": t("compare.axis_step"), "totals": totals, "height": BARS}
    options |= {"roles": [PART_LOOKS[part] for part in PARTS], "entries": ENTRY_WIDTH}
    figure = partial(figures.bars, ["A", "B"], parts, **options)
    alt = t("compare.alt_step", a=totals[0], b=totals[1])
    charts.show(figure, "compare:step", alt=alt)


def _maps(view: View) -> None:
    """One head of each over the same tokens, on the same limits."""
    *places, beside, below = _places(view)
    with beside:
        controls.maps(view)
        prose.note(words.weights(view))
    a, b = (run.head_map(run.ran(view, side), view.map) for side in view.sides)
    limit, asked = figures.shared_limit(a, b), trained.asked(view)
    same = len({columns(run.found(view, side)) for side in view.sides}) == 1
    cell = asked or (run.furthest_apart(a, b) if same else None)
    for place, side, values in zip(places, view.sides, (a, b), strict=True):
        with place:
            prose.say(f"**{side.shown_name}**{prose.weights_mark(side.origin)}")
            _map(view, side, values, limit, cell)
            if view.trained:
                prose.note(trained.heads(side, view))
    with below:
        if not (view.trained and view.map == "attention"):  # the first word looks at itself alone
            prose.note(t(f"compare.limits_{view.map}", limit=digits(limit)))
        prose.say(trained.look(view) if asked else words.apart(view, cell, a, b))
        if long := words.beyond(view):
            prose.say(long)


def _places(view: View) -> list[DeltaGenerator]:
    """Return the places of both maps, their controls and sentences; trained maps side by side."""
    if view.trained:
        pair, below = st.columns(2, gap="medium"), st.container()
        return [*pair, st.container(), below]
    return [*st.columns((7, 7, 4), gap="medium"), st.container()]


def _map(
    view: View, side: Side, values: np.ndarray, limit: float, cell: tuple[int, int] | None
) -> None:
    found = run.found(view, side)
    hidden = {"left_out": left_out(found, found.mask), "breaks": breaks(found)}
    named_by = view.words, columns(found)
    head = str(view.head_of(side))
    figure = _figure(view, values, named_by, limit, cell=cell, head=head, **hidden)
    head = view.head_of(side)
    alt = t(f"compare.alt_{view.map}", side=side.name, head=head, limit=digits(limit))
    charts.show(figure, f"chart:compare_{side.letter}", alt=alt, data=partial(_numbers, view, side))


def _numbers(view: View, side: Side) -> "pd.DataFrame":
    """The map of one side."""
    found = run.found(view, side)
    return named(run.head_map(found, view.map), view.words, columns(found))


def _figure(
    view: View,
    values: np.ndarray,
    tokens: tuple[tuple[str, ...], tuple[str, ...]],
    limit: float,
    **options: object,
) -> charts.Drawing:
    height = maps.charts.fitting(view.words, LOW, MAP) if view.trained else MAP
    options |= {"height": height, "words": map_words()}
    if view.map == "attention":
        name = t("compare.map_attention")
        return partial(figures.attention_map, values, *tokens, name=name, **options)
    if view.map == "weights":  # most of them would print 0.00
        options["numbers"] = False
    name = t("compare.score" if view.map == "scores" else "compare.weight")
    return partial(figures.score_map, values, *tokens, limit=limit, name=name, **options)
