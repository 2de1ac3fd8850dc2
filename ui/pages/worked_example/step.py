"""The step that is shown: the ways to it and to a cell of its result, and what is said of them."""

import re
from dataclasses import replace
from functools import partial

import orjson
import streamlit as st

from mla_engine import worked_example
from mla_engine.worked_example import show
from ui import SCRIPTS, asset
from ui.pages.worked_example import board
from ui.pages.worked_example import view as views
from ui.pages.worked_example.board import name_html
from ui.pages.worked_example.view import View
from ui.parts import cells
from ui.parts.control import control
from ui.settings import state
from ui.words.numbers import digits, printed
from ui.words.text import listed, named, sentences, t

KATEX = next(SCRIPTS.glob("rehype-katex.*.js")).name  # which draws the page's formula
OF_THE_SOURCE = {"from_printed", "one_key", "k_R_is_cached"}  # notes


def lead(here: View) -> tuple[str, str]:
    """Return what softmax gives, what is cached, or how many figures of the source follow."""
    if here.open:
        place = t("common.out_of", n=here.place + 1, all=len(here.steps))
        return place, t("worked_example.line_asked")
    if here.is_completed:
        attention = next(step for step in here.steps if step.key == "attention").result
        first, second = (digits(100 * float(attention.rows[row][0])) for row in (1, 3))
        line = t("worked_example.line_completed", first=first, second=second)
        return t("common.percent", value=first), line
    if not here.compares:
        return _cached(here)
    follow, all_printed = worked_example.printed_count(here.steps)
    key = "line_changed" if here.changed else "line"
    values = {"variant": here.variant.upper(), "follow": follow, "printed": all_printed}
    return t("common.out_of", n=follow, all=all_printed), t(f"worked_example.{key}", **values)


def _cached(here: View) -> tuple[str, str]:
    """Return what is kept of the tokens in the source's own example."""
    step = next(step for step in here.steps if step.key == f"cache_{here.variant}")
    numbers, tokens = show(step.result.rows[0][0]), show(step.operands[-1].rows[0][0])
    values = {"variant": here.variant.upper(), "numbers": numbers, "tokens": tokens}
    return t("worked_example.numbers", n=numbers), t("worked_example.line_cached", **values)


def choose(here: View) -> None:
    """Draw the controls that choose the example and a step of it."""
    look = {"label_visibility": "collapsed", "width": "content"}
    control("we_variant", then=views.to_first_step, **look)
    why = t("worked_example.completed_help")
    control("we_completed", help=why, width="content", then=views.to_first_step)
    with st.container(key="we_moves", horizontal=True, gap="xsmall", width="content"):
        _moves(here)
    control(
        "we_step",
        label=t("worked_example.scrubber", of=len(here.steps)),
        most=len(here.steps),
        label_visibility="collapsed",
        width=220,
        then=views.to_first_cell,
    )


def _moves(here: View) -> None:
    n, last = here.place + 1, len(here.steps)
    for name, icon, to in (
        ("first", "first_page", 1),
        ("previous", "chevron_left", n - 1),
        ("next", "chevron_right", n + 1),
        ("last", "last_page", last),
    ):
        st.button(
            t(f"worked_example.{name}"),
            icon=f":material/{icon}:",
            key=f"we_{name}",
            help=t(f"worked_example.{name}_help"),
            on_click=partial(views.to_step, to),
            disabled=to == n or not 1 <= to <= last,
        )


def choose_cell(here: View) -> None:
    """Draw the controls that choose a cell of the result."""
    for name, size in zip(("we_row", "we_column"), here.step.result.shape, strict=True):
        control(name, options=range(1, size + 1))


def choose_what_is_shown() -> None:
    """Draw the controls of how many of the last steps are asked, and of the source's figures."""
    control("we_fade", then=views.to_first_asked)
    control("we_printed", help=t("worked_example.compare_help"))


def listen(here: View) -> None:
    """Take clicks on cells of the result, and give the browser all steps."""

    def choose(cell: dict) -> None:
        row, column = map(int, cell["at"].split(","))
        state.change(we_row=row, we_column=column)

    def on_cell() -> None:
        cells.take(st.session_state["we_clicks"].get("cell"), choose)

    clicks = st.components.v2.component("worked_example", js=asset("worked_example.js"))
    clicks(key="we_clicks", data=_ahead(here), on_cell_change=on_cell)


def _ahead(here: View) -> bytes:
    """Return what the browser shows of each step at its first cell before the server has heard."""
    if not here.goes_ahead:
        return orjson.dumps({"steps": []})
    of = (here.variant, *here.inputs.items(), here.compares, here.language)
    held = st.session_state.setdefault("we_ahead", {})
    if of not in held:
        steps = [_shown(replace(here, place=n, chosen=(0, 0))) for n in range(len(here.steps))]
        held.clear()
        held[of] = orjson.dumps({"steps": steps, "script": KATEX})
    return held[of]


def _shown(here: View) -> dict[str, str]:
    step = {"heading": heading(here), "formula": here.step.formula}
    return step | {"board": board.row(here), "written": written_out(here)}


def heading(here: View) -> str:
    """Return which step this is, and what it does."""
    says = t(f"worked_example.do_{_meaning(here)}")
    return t("worked_example.heading", n=here.place + 1, of=len(here.steps), says=says)


def _meaning(here: View) -> str:
    key = here.step.key
    if key.endswith("_heads"):
        return "heads"
    return f"{key}_projected" if here.variant.startswith("mha") and key in ("q", "k") else key


def cell_name(here: View) -> str:
    """Return the chosen cell as plain Markdown: u[4, 2]."""
    row, column = here.chosen
    return f"{here.step.name}[{row + 1}, {column + 1}]".replace("_", "\\_")


def written_out(here: View) -> str:
    """Return terms, comparison and remarks as HTML; the stylesheet keeps their height the same."""
    row, column = here.chosen
    cell = named(f"{name_html(here.step.name)}[{row + 1}, {column + 1}]", "")
    compared = f'<p class="compare {here.verdict}">{_compared(here)}</p>' if here.compares else ""
    return (
        f'<div class="written" data-step="{here.place + 1}"><p class="terms">'
        f'<span class="place">{cell.strip()}</span> {_terms(here)}</p>'
        f"{compared}<p>{_remarks(here)}</p></div>"
    )


def _terms(here: View) -> str:
    """Return the chosen cell written out as HTML, or what is missing to compute it."""
    written = here.step.terms(*here.chosen)
    if written:
        raised = re.sub(r"e\^(\([^)]*\)|[\d.x]+)", r"e<sup>\1</sup>", written)
        return re.sub(r"^[a-z]\w*(?=\[)", lambda match: name_html(match[0]), raised)
    position = {"position": t("worked_example.the_position")}
    missing = listed(position.get(name) or name_html(name) for name in here.step.missing)
    return t("worked_example.not_computable", missing=missing)


def _compared(here: View) -> str:
    """Return the chosen cell beside its printed figure."""
    difference = here.step.difference(*here.chosen)
    return t(
        f"worked_example.compare_{here.verdict}",
        printed=printed(here.step.printed(*here.chosen) or ""),
        difference="" if difference is None else show(difference).removeprefix("≈"),
    )


def _remarks(here: View) -> str:
    """Return what is to be known of the step; with the comparison, what the source makes of it."""
    notes = [code for code in here.step.notes if here.compares or code not in OF_THE_SOURCE]
    codes = [*notes, *([] if here.step.exact else ["rounded"])]
    return sentences(t(f"worked_example.note_{code}") for code in codes)


def legend(here: View) -> str:
    """Return what the marks mean."""
    return t("worked_example.legend_printed" if here.compares else "worked_example.legend")
