"""The step that is shown: counted in every way, run piece by piece, and what was measured."""

from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import costs
from ui.pages.decode.run import Runner, Step, runner
from ui.pages.decode.view import View
from ui.parts import charts, measure, prose
from ui.parts.control import control
from ui.parts.ways import label, windowed
from ui.sources import work
from ui.streamlit_internals import DeltaGenerator
from ui.words.numbers import clock, count, digits, prefixed, tied_size
from ui.words.text import parted, safe, t

HEADS = (0, *(2**n for n in range(8)))  # to be run; 0 is as many as take a moment
LATENT = ("mla_kv", "mla_each", "mla_absorbed")
WAITING = "\N{HORIZONTAL ELLIPSIS}"
NEVER = "\N{EM DASH}"
COLUMNS = ("held", "read", "multiply_adds", "measured", "difference")


def controls(view: View) -> None:
    """Draw the choice of how many heads are run."""
    ladder = [n for n in HEADS if n <= view.most_heads]
    control("dec_heads", options=ladder, write=lambda n: count(n) if n else t("decode.automatic"))


def draw(view: View) -> None:
    """Draw the table, first with what is only counted, then with what was measured."""
    key = "decode.of_word" if view.writer else "decode.of_step"
    st.markdown(t(key, step=count(view.chosen.step), word=safe(view.words[view.context])))
    if said_of_window := windowed(view.model):
        prose.say(said_of_window)
    place, said = st.container(key="dec_table").empty(), st.empty()
    place.table(_table(view, {}))
    try:
        steps = _steps(view)
    except ValueError as error:
        prose.refused(error)
        return
    if steps:
        place.table(_table(view, steps))
        with said:
            prose.say(_agreement(steps))
        charts.download(partial(_numbers, view, steps), "decode_step.csv")


def _table(view: View, taken: Mapping[str, Step]) -> pd.DataFrame:
    """Return one row a way, as texts; what has not run yet waits, or is not run."""
    rows, ran = {}, view.ran
    for code in view.ways:
        step, waits = taken.get(code), WAITING if code in ran else NEVER
        rows[label(view.ways, code)] = (
            tied_size(view.held_bytes(code)),
            tied_size(view.read_bytes(code)),
            prefixed(view.multiply_adds(code)),
            clock(step.seconds) if step else waits,
            digits(step.difference, 1) if step else waits,
        )
    columns = [t(f"decode.column_{name}") for name in COLUMNS]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _numbers(view: View, taken: Mapping[str, Step]) -> pd.DataFrame:
    """Return one row a way, as numbers for the download."""
    rows = [
        {
            "way": code,
            "prompt_tokens": view.prompt,
            "step": view.chosen.step,
            "heads": view.n_heads,
            "held_bytes": view.held_bytes(code),
            "read_bytes": view.read_bytes(code),
            "multiply_adds": view.multiply_adds(code),
            "heads_run": view.heads,
            "measured_seconds": step.seconds,
            "difference_from_whole_sequence": step.difference,
        }
        for code, step in taken.items()
    ]
    return pd.DataFrame(rows)


def _steps(view: View) -> dict[str, Step]:
    """Return this step in every way; nothing if it was cancelled.

    Raises:
        MemoryBudgetError, CostError, FullError: in the engine's words, or too much waits to be run.
    """
    asked = {
        code: (way, view.heads, view.prompt, view.words, view.model.source_of(way.config))
        for code, way in view.ran.items()
    }
    step, identity = view.chosen.step, (view.chosen.step, *asked.values())
    work.require(view.operations(view.ran), work.SHORTER_PROMPT)
    if st.session_state.get("dec_cancelled") == identity:
        st.button(t("decode.run"), key="dec_run", on_click=_cancel, args=(None,))
        return {}
    cancel, bar = st.empty(), st.empty()
    cancel.button(t("decode.cancel"), key="dec_cancel", on_click=_cancel, args=(identity,))
    bar.progress(0.0, t("decode.building"))
    runners = {}
    for code, given in asked.items():
        runners[code] = runner(*given, view.model.checkpoint)
        bar.progress(0.0, label(view.ways, code))
    _advance(view, runners, bar)
    cancel.empty()
    bar.empty()
    return {code: one.steps[step] for code, one in runners.items()}


def _cancel(asked: tuple | None) -> None:
    st.session_state.dec_cancelled = asked


def _advance(view: View, runners: Mapping[str, Runner], bar: DeltaGenerator) -> None:
    """Bring every runner to the step, and show the share that is done."""
    step = view.chosen.step
    missing, done = sum(one.pieces_to(step) for one in runners.values()), 0
    for code, one in runners.items():
        while one.pieces_to(step):
            one.advance(step)
            done += 1
            bar.progress(min(done / missing, 1.0), label(view.ways, code))


def _agreement(taken: Mapping[str, Step]) -> str:
    """Return how closely all forms of MLA agree, as a number."""
    worst = max(taken[code].difference for code in LATENT)
    others = max(step.difference for code, step in taken.items() if code not in LATENT)
    return t("decode.agreement", worst=digits(worst, 1), others=digits(others, 1))


def expand(view: View) -> str:
    """Return how MLA is decoded, and from how many new tokens on the other way is less work."""
    queries = costs.expanding_wins(view.latent, view.context)
    if queries is None:
        return t("decode.never_expand")
    limit = digits(costs.crossover_queries(view.latent))
    return t("decode.expand", queries=count(queries), tokens=count(view.context), limit=limit)


def compared(view: View) -> str:
    """Return why the times are so: what absorbed MLA and MHA do with the heads that are run."""
    mla, mha = (view.cost(code, run=True) for code in ("mla_absorbed", "mha"))
    return measure.compared(mla, mha, view.heads, view.context)


def counted(view: View) -> str:
    """Return what is counted, and what is measured on which device."""
    heads, every = count(view.heads), count(view.n_heads)
    return t("decode.counted", all=every, heads=heads, machine=measure.here())


def not_run(view: View) -> str:
    """Name the ways that are only counted; empty where all are run."""
    names = [label(view.ways, code) for code in view.ways if code not in view.ran]
    return t("decode.not_run", ways=parted(names)) if names else ""
