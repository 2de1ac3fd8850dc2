"""The pictures of the page after_mla: levers, stored beside read, and wrong formulas."""

import math
from functools import partial

import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.after_mla import tables, words
from ui.pages.after_mla.view import View
from ui.parts import charts, prose
from ui.words.numbers import times
from ui.words.text import t, translated

pd = Late("pandas")

STEPS, READ, ROW = 350, 90, 58  # pixels; a row of the second picture has two bars
PRINTED, LINE = 90, 22  # of the picture of formulas
LINES = 74  # of a row of their table; in lower ones text does not wrap
ROOM = 30.0  # times the longest bar, for the text at its end
PAIR = (0, 3)


def steps(view: View) -> None:
    """Bytes of a token as MHA, after each lever, and read; equal distances are equal factors."""
    kept = [float(step) for step in view.shown.levers.steps.values()]
    amounts = [*kept, view.shown.read_per_token]
    parts = {
        t("after_mla.stored"): [*kept, math.nan],
        t("after_mla.read"): [*([math.nan] * len(kept)), amounts[-1]],
    }
    fig = partial(
        figures.bars,
        words.rows_of_picture(),
        parts,
        axis=t("after_mla.axis_bytes"),
        stacked=False,
        log=True,
        roles=PAIR,
        totals=words.ends(view),
        limits=(min(amounts) / 3, max(amounts) * ROOM),
        ticks="~s",
        legend=False,
        height=STEPS,
    )
    data, file = partial(tables.steps, view), "mla_after_levers.csv"
    charts.show(fig, "after_mla:steps", alt=words.alt_steps(view), data=data, file=file)


def stored_and_read(view: View) -> None:
    """Draw what a sequence takes, and what its next token reads of it."""
    names = ["<br>".join(figures.rows(one.label)) for one in view.milestones]
    parts = {
        t("after_mla.stored"): [one.stored / 2**30 for one in view.milestones],
        t("after_mla.read"): [one.read / 2**30 for one in view.milestones],
    }
    least = min(map(min, parts.values()))
    fig = partial(
        figures.bars,
        names,
        parts,
        axis=t("after_mla.axis_gib"),
        stacked=False,
        log=True,
        roles=PAIR,
        totals=words.ends_of_milestones(view),
        limits=(least / 2, ROOM * max(map(max, parts.values()))),
        ticks="~g",
        height=READ + ROW * len(names),
    )
    data, file = partial(tables.milestones, view), "mla_after_stored_read.csv"
    charts.show(fig, "after_mla:read", alt=words.alt_read(view), data=data, file=file)


def printed() -> None:
    """Draw wrong formulas' results over the right one, from the least to the most, with a table."""
    found = tables.by_ratio()
    ratios = {translated(one.short): one.ratio for one in found}
    prose.say(words.formulas())
    fig = partial(
        figures.ratio_bars,
        t("after_mla.printed_ratio"),
        ratios,
        [times(ratio) for ratio in ratios.values()],
        axis=t("after_mla.axis_printed"),
        height=PRINTED + LINE * len(found),
    )
    data, file = tables.printed_data, "mla_printed_formulas.csv"
    charts.show(fig, "after_mla:printed", alt=words.alt_printed(), data=data, file=file)
    widths = {"forgets": "large", "context": "small", "ratio": "small"}
    columns = {
        t(f"after_mla.column_{name}"): st.column_config.TextColumn(width=width)
        for name, width in widths.items()
    }
    st.dataframe(tables.printed(), hide_index=True, row_height=LINES, column_config=columns)
    prose.say(t("after_mla.printed_note"))


def every(view: View) -> None:
    """All published models that are counted, as a table to be sorted and searched."""
    table = tables.every(view)
    st.dataframe(table, hide_index=True)
    charts.download(lambda: table, "mla_caches_of_models.csv", "after_mla:every")
