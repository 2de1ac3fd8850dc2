"""The section that times every way on this machine, when the reader asks for it."""

from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from ui.pages.compute import run
from ui.pages.compute.roof import table, under_roof
from ui.pages.compute.run import Trial
from ui.pages.compute.view import View
from ui.parts import measure, prose
from ui.parts.charts import show
from ui.parts.measure import device_name, machine
from ui.parts.ways import label, listed
from ui.settings.server import server
from ui.words.numbers import clock, count, giga, share, times
from ui.words.text import t

Taken = Mapping[str, tuple[Trial, float]]  # code -> what was timed, and its seconds


def _ask(asked: tuple | None) -> None:
    st.session_state.cost_asked = asked


def _forget() -> None:
    run.seconds.clear()
    run.kernel_seconds.clear()


def draw(view: View) -> None:
    """Draw a button; then every way timed, piece by piece, beside what the model says."""
    if server().recorded:
        return
    call = (view.decoding, view.chosen.context, view.chosen.queries)
    asked = (*call, *view.ways.values())
    if st.session_state.get("cost_asked") != asked:
        st.button(t("compute.measure"), on_click=_ask, args=(asked,), key="cost_measure")
        return
    stop, bar = st.empty(), st.empty()
    stop.button(t("compute.stop"), on_click=_ask, args=(None,), key="cost_stop")
    bar.progress(0.0, t("compute.measuring_rates"))
    try:
        trials, taken = run.trials(view.ways, *call), {}
        for code, trial in trials.items():
            bar.progress(len(taken) / len(trials), label(view.ways, code))
            taken[code] = trial, run.seconds(trial)
        kernel = run.kernel_seconds(trials["mla_absorbed"])
    except ValueError as error:
        prose.refused(error)
        return
    bar.empty()
    stop.button(t("compute.again"), on_click=_forget, key="cost_again")
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        _roof(view, taken)
    mla, mha = trials["mla_absorbed"], trials["mha"]
    with numbers:
        prose.say(_tried(mla))
        st.table(_table(view, taken))
        prose.note(t("compute.measured_note"))
        prose.say(measure.compared(mla.cost(), mha.cost(), mla.heads, mla.context))
    if kernel:
        prose.say(_kernel(mla, kernel))


def _roof(view: View, taken: Taken) -> None:
    """Draw what was measured under this machine's own roof."""
    here, modelled, reached, both = machine(), {}, {}, {}
    for code, (trial, seconds) in taken.items():
        cost = trial.cost()
        intensity = cost.flops_per_byte
        modelled[code] = (intensity, here.attainable(intensity))
        reached[code] = (intensity, cost.total_flops / seconds)
        both[code] = f"{clock(here.seconds(cost))} / {clock(seconds)}"
    show(
        under_roof(view.ways, here, modelled, reached),
        "measured_roof",
        alt=t("compute.alt_measured", gpu=device_name(here), times=listed(view.ways, both)),
        data=partial(_numbers, taken),
        file="compute_measured.csv",
    )


def _tried(trial: Trial) -> str:
    """Return which sizes were timed, on what."""
    key, measured = "tried_decode" if trial.decoding else "tried_prefill", machine()
    return t(
        f"compute.{key}",
        machine=measure.here(),
        heads=count(trial.heads),
        tokens=count(trial.context),
        queries=count(trial.queries),
        rate=giga(measured.flops_per_second, "FLOP/s"),
        speed=giga(measured.bytes_per_second, "B/s"),
    )


def _kernel(trial: Trial, seconds: float) -> str:
    """Return how fast the kernel alone is, and how near it comes to this machine's memory."""
    cost = trial.cost()
    speed = cost.cache_read_bytes / seconds
    return t(
        "compute.kernel",
        time=clock(seconds),
        rate=giga(cost.attention_flops / seconds, "FLOP/s"),
        speed=giga(speed, "B/s"),
        share=share(speed / machine().bytes_per_second),
    )


def _table(view: View, taken: Taken) -> pd.DataFrame:
    """Return the bound, the measured time and their ratio of each way."""
    here, rows = machine(), {}
    for code, (trial, seconds) in taken.items():
        bound = here.seconds(trial.cost())
        rows[label(view.ways, code)] = clock(bound), clock(seconds), times(seconds / bound)
    return table(rows, "bound", "measured", "ratio")


def _numbers(taken: Taken) -> pd.DataFrame:
    """Return modelled and measured, for the download."""
    here, rows = machine(), []
    for code, (trial, seconds) in taken.items():
        cost = trial.cost()
        rows.append(
            {
                "way": code,
                "phase": "decode" if trial.decoding else "prefill",
                "heads": trial.heads,
                "context": trial.context,
                "query_tokens": trial.queries if trial.decoding else trial.context,
                "flop": cost.total_flops,
                "bytes": cost.total_bytes,
                "modelled_seconds": here.seconds(cost),
                "measured_seconds": seconds,
                "device": here.name,
            }
        )
    return pd.DataFrame(rows)
