"""The section that times every way on this machine, when the reader asks for it."""

from collections.abc import Mapping

import streamlit as st

from ui.pages.compute import charts, run, tables, words
from ui.pages.compute.run import Timed
from ui.pages.compute.view import View
from ui.parts import prose
from ui.parts.ways import label
from ui.words.text import t


def _asked(view: View) -> tuple:
    return (view.decoding, view.context, view.queries, *view.ways.values())


def _ask(asked: tuple | None) -> None:
    st.session_state.cost_asked = asked


def _forget() -> None:
    run.seconds.clear()
    run.kernel_seconds.clear()


def draw(view: View) -> None:
    """A button; then every way timed, piece by piece, beside what the model says."""
    asked = _asked(view)
    if st.session_state.get("cost_asked") != asked:
        st.button(t("compute.measure"), on_click=_ask, args=(asked,), key="cost_measure")
        return
    stop, bar = st.empty(), st.empty()
    stop.button(t("compute.stop"), on_click=_ask, args=(None,), key="cost_stop")
    bar.progress(0.0, t("compute.measuring_rates"))
    try:
        trials, taken = run.trials(view.ways, view.decoding, view.context, view.queries), {}
        for code, trial in trials.items():
            bar.progress(len(taken) / len(trials), label(view.ways, code))
            taken[code] = Timed(trial, run.seconds(trial))
        kernel = run.kernel_seconds(trials["mla_absorbed"])
    except ValueError as error:
        prose.refused(error)
        return
    bar.empty()
    stop.button(t("compute.again"), on_click=_forget, key="cost_again")
    _results(view, taken)
    if kernel:
        prose.say(words.kernel(trials["mla_absorbed"], kernel))


def _results(view: View, taken: Mapping[str, Timed]) -> None:
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        charts.timed(view, taken)
    with numbers:
        prose.say(words.tried(next(iter(taken.values())).trial))
        st.table(tables.timed(view, taken))
        prose.note(t("compute.measured_note"))
        prose.say(words.compared(taken))
