"""The charts of the compute page, each with its words and its download."""

from functools import partial

import streamlit as st

from mla_engine import costs, figures
from mla_engine.costs import Device
from ui.pages.compute import view as compute_costs
from ui.pages.compute import words as say
from ui.pages.compute.view import Scene
from ui.parts import charts, measure, prose
from ui.parts.measure import Trial, device_name
from ui.parts.ways import label
from ui.settings.state import settings
from ui.words.numbers import count, digits
from ui.words.text import t

ROOF_TITLES = ("compute.axis_intensity", "compute.axis_rate")


def _roof(
    shown: Scene,
    device: Device,
    calls: dict[str, tuple[float, float]],
    measured: dict[str, tuple[float, float]] | None = None,
) -> object:
    """A figure of these calls under a device's roof."""

    def named(places: dict) -> dict:
        return {label(shown.ways, code): place for code, place in places.items()}

    return figures.roofline(
        (device.flops_per_second, device.bytes_per_second),
        named(calls),
        measured=named(measured or {}),
        titles=tuple(map(t, ROOF_TITLES)),
        ridge=t("compute.ridge", ridge=digits(device.ridge)),
        below=t("compute.column_measured"),
    )


def roof(shown: Scene) -> None:
    """The device's roofline with every way on it."""
    fig = _roof(shown, shown.device, shown.places())
    st.plotly_chart(fig, width="stretch", key="roof", alt=say.roof_alt(shown))
    charts.download(partial(compute_costs.table, shown), "compute_costs.csv")


def byte_bars(shown: Scene) -> None:
    """Where the bytes of each way come from."""
    parts = {t(f"compute.part_{part}"): n for part, n in shown.bytes_by_part().items()}
    names = [label(shown.ways, code) for code in shown.ways]
    totals = [row.iloc[1] for _, row in say.costs_table(shown).iterrows()]
    fig = figures.bars(names, parts, axis=t("compute.axis_bytes"), totals=totals, height=420)
    st.plotly_chart(fig, width="stretch", key="byte_bars", alt=say.bytes_alt(shown))
    charts.download(partial(compute_costs.table, shown), "compute_bytes.csv")


def expansion(shown: Scene) -> None:
    """FLOP over query tokens, absorbed and expanded, with their crossing."""
    absorbed, expanded = shown.expansion_flops()
    cross = shown.expansion_crossing()
    fig = figures.crossing(
        compute_costs.DOUBLINGS,
        {t("ways.way_mla_absorbed"): absorbed, t("ways.way_mla_each"): expanded},
        titles=(t("compute.axis_queries"), t("compute.axis_flop")),
        cross=cross,
        label=count(cross[0]) if cross else "",
        here=settings()["cost_queries"],
    )
    alt = say.plain(say.expansion(shown))
    st.plotly_chart(fig, width="stretch", key="expansion", alt=alt)
    charts.download(partial(compute_costs.expansion_table, shown), "compute_expansion.csv")


def turning(shown: Scene) -> None:
    """Intensity of absorbed attention over heads x query tokens, against the ridge."""
    rows = costs.attention_turns(shown.latent, shown.context, shown.device)
    ridge, gpu = shown.device.ridge, device_name(shown.device)
    fig = figures.crossing(
        compute_costs.DOUBLINGS,
        {
            t("compute.line_attention"): shown.intensities(),
            t("compute.line_ridge", gpu=gpu): [ridge] * len(compute_costs.DOUBLINGS),
        },
        titles=(t("compute.axis_rows"), t("compute.axis_intensity")),
        cross=rows and (rows, ridge),
        label=count(rows) if rows else "",
        here=shown.latent.n_heads * settings()["cost_queries"],
        roles=("latent", "rope"),
    )
    alt = say.plain(say.turning(shown))
    st.plotly_chart(fig, width="stretch", key="turning", alt=alt)
    charts.download(partial(compute_costs.intensity_table, shown), "compute_intensity.csv")


def _asked(shown: Scene) -> tuple:
    return (shown.decoding, shown.context, shown.queries, *shown.ways.values())


def _ask(asked: tuple | None) -> None:
    st.session_state.cost_asked = asked


def _again() -> None:
    measure.seconds.clear()


def measured(shown: Scene) -> None:
    """On request: every way timed here, piece by piece, beside what the model says."""
    asked = _asked(shown)
    if st.session_state.get("cost_asked") != asked:
        st.button(t("compute.measure"), on_click=_ask, args=(asked,), key="cost_measure")
        return
    stop, bar = st.empty(), st.empty()
    stop.button(t("compute.stop"), on_click=_ask, args=(None,), key="cost_stop")
    bar.progress(0.0, t("compute.measuring_rates"))
    try:
        trials = measure.trials(shown.ways, shown.decoding, shown.context, shown.queries)
        taken = {}
        for code, trial in trials.items():
            bar.progress(len(taken) / len(trials), label(shown.ways, code))
            taken[code] = (trial, measure.seconds(trial))
    except ValueError as error:
        prose.refused(error)
        return
    bar.empty()
    stop.button(t("compute.again"), on_click=_again, key="cost_again")
    _results(shown, taken)


def _results(shown: Scene, taken: dict[str, tuple[Trial, float]]) -> None:
    here = measure.machine()
    at = {code: trial.cost().flops_per_byte for code, (trial, _) in taken.items()}
    calls = {code: (x, here.attainable(x)) for code, x in at.items()}
    reached = {code: (at[code], trial.cost().total_flops / s) for code, (trial, s) in taken.items()}
    table = say.measured_table(shown, taken)
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        alt = "; ".join(f"{name}: {row.iloc[0]}, {row.iloc[1]}" for name, row in table.iterrows())
        fig = _roof(shown, here, calls, reached)
        st.plotly_chart(fig, width="stretch", key="measured_roof", alt=alt)
        charts.download(partial(measure.table, taken), "compute_measured.csv")
    with numbers:
        st.markdown(say.tried(next(iter(taken.values()))[0]))
        st.table(table)
        st.caption(t("compute.measured_note"))
