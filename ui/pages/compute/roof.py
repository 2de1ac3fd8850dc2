"""Every way under the device's roofline, what it costs, and where its bytes come from."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from mla_engine import costs, figures
from mla_engine.costs import Device
from ui.pages.compute import after
from ui.pages.compute.view import THIS, View, other_layers, steps
from ui.parts import prose
from ui.parts.charts import Drawing, show
from ui.parts.measure import device_name
from ui.parts.questions import Question, decades
from ui.parts.ways import INDEXED, Ways, label, listed, of_model, successor, windowed
from ui.words.numbers import clock, count, digits, flop, shortest, tied_size, times, unit_of
from ui.words.sources import cited
from ui.words.text import sentences, t, variant_name

PARTS = {"weights": 1, "cache": 0, "up_projected": 2, "hidden": 3}  # looks of what is no tensor
ROOM = 1.7  # times the longest bar: on a phone as much as its text takes
Places = Mapping[str, tuple[float, float]]  # code -> FLOP per byte, FLOP/s


def title(phase: str) -> str:
    """Return the page's point: of the phase, or of the chosen mechanism where it came after MLA."""
    return t(f"compute.title_{successor() or phase}")


def lead(view: View) -> tuple[str, str]:
    """Return intensities, two least times, or when choosing keys pays, and a sentence on them."""
    if view.model.variant == INDEXED:
        return after.lead_indexed(view)
    if view.shown in view.later:
        return after.lead(view)
    values = {"model": of_model(view.model), "gpu": device_name(view.device)}
    if not view.decoding:
        seconds = {code: clock(view.seconds(code)) for code in ("mla_each", "mla_absorbed")}
        line = t("compute.line_prefill", tokens=count(view.chosen.context), **values, **seconds)
        return seconds["mla_each"], line
    numbers = {code: digits(view.cost(code).flops_per_byte) for code in ("mha", "mla_absorbed")}
    line = t("compute.line_decode", **values, **numbers, ridge=digits(view.device.ridge))
    return t("compute.each_byte", flops=numbers["mla_absorbed"]), line


def look(view: View) -> str:
    """Return what to look at under the roof."""
    if view.shown in view.later:
        return t("compute.look_later", name=variant_name(view.shown))
    return t("compute.look")


def question(view: View) -> Question | None:
    """Ask how many times as long MHA takes as absorbed MLA; in prefill, absorbed as expanded."""
    if view.shown in view.later:
        return after.question(view)
    slow, fast = ("mha", "mla_absorbed") if view.decoding else ("mla_absorbed", "mla_each")
    return decades(
        f"compute_{view.chosen.phase}",
        t(f"compute.guess_{view.chosen.phase}"),
        view.seconds(slow) / view.seconds(fast),
        (1, 1000),
        say=times,
        why=t(f"compute.guess_{view.chosen.phase}_why"),
        hides=() if view.decoding else ("lead",),
    )


def counted(view: View) -> str:
    """Return what the numbers are of."""
    key = "counted_decode" if view.decoding else "counted_prefill"
    said = t(
        f"compute.{key}",
        layers=count(view.layers),
        batch=count(view.chosen.batch),
        tokens=count(view.chosen.context),
        queries=count(view.chosen.queries),
        width=shortest(view.device.dtype_bytes),
    )
    if not (others := other_layers(view.model.preset)):
        return said
    return sentences([said, t("compute.counted_others", layers=count(others))])


def source(view: View) -> str:
    """Return the device's rates and where they are from."""
    device = view.device
    return t(
        "compute.source",
        gpu=device_name(device),
        rate=digits(device.flops_per_second / 1e12),
        speed=digits(device.bytes_per_second / 1e9),
        source=t("compute.source_this") if view.chosen.gpu == THIS else cited(device.source),
    )


def roof(view: View) -> None:
    """Draw the device's roofline with every way on it."""
    gpu, ridge = device_name(view.device), digits(view.device.ridge)
    along = {code: {n: _place(view, code, n) for n in steps()} for code in view.marked}
    places = {code: _place(view, code, view.chosen.context) for code in view.marked}
    at = {code: digits(intensity) for code, (intensity, _) in places.items()}
    show(
        partial(
            under_roof(view.ways, view.device, places, {}),
            along={label(view.ways, code): moves for code, moves in along.items()},
        ),
        "roof",
        alt=t("compute.alt_roof", gpu=gpu, ridge=ridge, at=listed(view.ways, at)),
        data=partial(_costs, view),
        file="compute_costs.csv",
        follows="cost_context",
    )


def _place(view: View, code: str, tokens: int) -> tuple[float, float]:
    """Return a way's FLOP per byte and the rate that the device can have at it."""
    intensity = view.cost(code, tokens=tokens).flops_per_byte
    return intensity, view.device.attainable(intensity)


def under_roof(ways: Ways, device: Device, calls: Places, measured: Places) -> Drawing:
    """Return the picture of these calls under a device's roof."""

    def named(places: Places) -> Places:
        return {label(ways, code): place for code, place in places.items()}

    return partial(
        figures.roofline,
        (device.flops_per_second, device.bytes_per_second),
        named(calls),
        roles=list(calls),
        measured=named(measured),
        titles=(t("compute.axis_intensity"), t("compute.axis_rate")),
        ridge=t("compute.ridge", ridge=digits(device.ridge)),
        below=t("figures.of_measured", name="{name}"),
    )


def _bytes(view: View) -> dict[str, float]:
    """Return code -> bytes of all layers."""
    return {code: view.layers * view.cost(code).total_bytes for code in view.ways}


def _bytes_by_part(view: View) -> dict[str, list[float]]:
    """Return part -> bytes of all layers in every way."""
    all_costs = [view.cost(code) for code in view.ways]
    parts = {
        "weights": [c.weight_bytes for c in all_costs],
        "cache": [c.cache_read_bytes + c.cache_written_bytes for c in all_costs],
        "up_projected": [c.up_projected_bytes for c in all_costs],
        "hidden": [c.activation_bytes for c in all_costs],
    }
    return {part: [view.layers * n for n in numbers] for part, numbers in parts.items()}


def bytes_moved(view: View) -> None:
    """Draw the bytes of each way by their parts."""
    prose.say(sentences(filter(None, [t("compute.bytes_look"), windowed(view.model)])))
    moved, by_part = _bytes(view), _bytes_by_part(view)
    totals = {code: tied_size(n) for code, n in moved.items()}
    unit_bytes, unit = unit_of(max(moved.values()))
    figure = partial(
        figures.bars,
        [label(view.ways, code) for code in view.ways],
        {
            t(f"compute.part_{part}"): [n / unit_bytes for n in every]
            for part, every in by_part.items()
        },
        axis=t("compute.axis_bytes", unit=unit),
        roles=[PARTS[part] for part in by_part],
        totals=list(totals.values()),
        limits=(0, ROOM * max(moved.values()) / unit_bytes),
        height=420,
    )
    alt = t("compute.alt_bytes", held=listed(view.ways, totals))
    show(figure, "byte_bars", alt=alt, data=partial(_costs, view), file="compute_bytes.csv")


def _costs(view: View) -> pd.DataFrame:
    """Return every cost, for the download."""
    chosen, parts, rows = view.chosen, _bytes_by_part(view), []
    for place, (code, way) in enumerate(view.ways.items()):
        cost = view.cost(code)
        rows.append(
            {
                "way": code,
                "phase": chosen.phase,
                "context": chosen.context,
                "query_tokens": chosen.queries if view.decoding else chosen.context,
                "batch": chosen.batch,
                "heads": way.config.n_heads,
                "layers": view.layers,
                "flop": view.layers * cost.total_flops,
                "attention_flop": view.layers * cost.attention_flops,
                **{f"{part}_bytes": numbers[place] for part, numbers in parts.items()},
                "flop_per_byte": cost.flops_per_byte,
                "device": view.device.name,
                "ridge_flop_per_byte": view.device.ridge,
                "least_seconds": view.seconds(code),
            }
        )
    return pd.DataFrame(rows)


def table(rows: Mapping[str, tuple[str, ...]], *columns: str) -> pd.DataFrame:
    """Return rows of texts by their names, under the columns' own texts."""
    names = [t(f"compute.column_{column}") for column in columns]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


def ways(view: View) -> pd.DataFrame:
    """Return what each way costs."""
    rows = {}
    for code, n_bytes in _bytes(view).items():
        cost = view.cost(code)
        bound = "compute" if view.device.compute_bound(cost) else "memory"
        rows[label(view.ways, code)] = (
            flop(view.layers * cost.total_flops),
            tied_size(n_bytes),
            digits(cost.flops_per_byte),
            t("compute.bound", time=clock(view.seconds(code)), by=t(f"compute.bound_{bound}")),
        )
    return table(rows, "flop", "bytes", "intensity", "seconds")


def devices() -> pd.DataFrame:
    """Return all devices with rates, ridge and source."""
    rows = {
        gpu.name: (
            digits(gpu.flops_per_second / 1e12),
            digits(gpu.bytes_per_second / 1e9),
            digits(gpu.ridge),
            cited(gpu.source),
        )
        for gpu in costs.GPUS.values()
    }
    return table(rows, "rate", "speed", "ridge", "source")
