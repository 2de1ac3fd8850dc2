"""The section that runs the step in every way, piece by piece, and tells what was measured."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from ui.engine import work
from ui.pages.decode import tables, words
from ui.pages.decode.run import Runner, Step, runner
from ui.pages.decode.view import View
from ui.parts import charts, prose
from ui.parts.ways import label
from ui.streamlit_internals import DeltaGenerator
from ui.words.text import t


def draw(view: View) -> None:
    """The table, first with only what is counted, then with what was measured."""
    st.markdown(words.of_step(view))
    place, said = st.container(key="dec_table").empty(), st.empty()
    place.table(tables.shown(view, {}))
    try:
        steps = _steps(view)
    except ValueError as error:
        prose.refused(error)
        return
    if steps:
        place.table(tables.shown(view, steps))
        with said:
            prose.say(words.agreement(steps))
        charts.download(partial(tables.numbers, view, steps), "decode_step.csv")


def _steps(view: View) -> dict[str, Step]:
    """This step in every way; nothing if it was cancelled.

    Raises:
        MemoryBudgetError, CostError, FullError: in the engine's words, or too much waits to be run.
    """
    asked = _asked(view)
    work.require(view.operations(view.ran), work.SHORTER_PROMPT)
    if st.session_state.get("dec_cancelled") == asked:
        st.button(t("decode.run"), key="dec_run", on_click=_cancel, args=(None,))
        return {}
    cancel, bar = st.empty(), st.empty()
    cancel.button(t("decode.cancel"), key="dec_cancel", on_click=_cancel, args=(asked,))
    runners = _built(view, bar)
    _advance(view, runners, bar)
    cancel.empty()
    bar.empty()
    return {code: one.steps[view.step] for code, one in runners.items()}


def _asked(view: View) -> tuple:
    origins = [view.model.origin(way.config) for way in view.ran.values()]
    return (view.step, view.heads, view.prompt, view.words, *origins, *view.ran.values())


def _cancel(asked: tuple | None) -> None:
    st.session_state.dec_cancelled = asked


def _built(view: View, bar: DeltaGenerator) -> dict[str, Runner]:
    """A runner for every way, its weights made."""
    bar.progress(0.0, t("decode.building"))
    runners = {}
    for code, way in view.ran.items():
        origin = view.model.origin(way.config)
        runners[code] = runner(way, view.heads, view.prompt, view.words, origin, view.model.layer)
        bar.progress(0.0, label(view.ways, code))
    return runners


def _advance(view: View, runners: Mapping[str, Runner], bar: DeltaGenerator) -> None:
    """Every runner to the step, with the share that is done."""
    missing, done = sum(one.pieces_to(view.step) for one in runners.values()), 0
    for code, one in runners.items():
        while one.pieces_to(view.step):
            one.advance(view.step)
            done += 1
            bar.progress(min(done / missing, 1.0), label(view.ways, code))
