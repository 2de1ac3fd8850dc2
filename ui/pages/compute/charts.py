"""The charts of the compute page."""

from collections.abc import Mapping
from functools import partial

from mla_engine import figures
from mla_engine.costs import Device
from mla_engine.figures import symbol_html
from ui.pages.compute import after, tables, words
from ui.pages.compute.run import Timed
from ui.pages.compute.view import CONTEXTS, DOUBLINGS, FLOPS, View, cache_bytes
from ui.parts.charts import Drawing, show
from ui.parts.measure import device_name, machine
from ui.parts.ways import INDEXED, Ways, label
from ui.words.numbers import count, digits, flop, unit_of
from ui.words.text import t

PARTS = {"weights": 1, "cache": 0, "up_projected": 2, "hidden": 3}  # looks of what is no tensor
RIDGE = 1
ROOM = 1.7  # times the longest bar: on a phone as much as its text takes
Places = Mapping[str, tuple[float, float]]  # code -> FLOP per byte, FLOP/s


def _under_roof(ways: Ways, device: Device, calls: Places, measured: Places) -> Drawing:
    """These calls under a device's roof."""

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
        below=t("compute.column_measured"),
    )


def roof(view: View) -> None:
    """The device's roofline with every way on it."""
    show(
        _under_roof(view.ways, view.device, view.places(), {}),
        "roof",
        alt=words.roof_alt(view),
        data=partial(tables.cost_numbers, view),
        file="compute_costs.csv",
    )


def byte_bars(view: View) -> None:
    """Where the bytes of each way come from."""
    most = max(view.bytes_in_all().values())
    unit_bytes, unit = unit_of(most)
    parts = {
        t(f"compute.part_{part}"): [n / unit_bytes for n in every]
        for part, every in view.bytes_by_part().items()
    }
    fig = partial(
        figures.bars,
        [label(view.ways, code) for code in view.ways],
        parts,
        axis=t("compute.axis_bytes", unit=unit),
        roles=[PARTS[part] for part in view.bytes_by_part()],
        totals=list(words.totals(view).values()),
        limits=(0, ROOM * most / unit_bytes),
        height=420,
    )
    show(
        fig,
        "byte_bars",
        alt=words.bytes_alt(view),
        data=partial(tables.cost_numbers, view),
        file="compute_bytes.csv",
    )


def expansion(view: View) -> None:
    """FLOP over query tokens, absorbed and expanded, with their crossing."""
    absorbed, expanded = view.expansion_flops()
    cross = view.expansion_crossing()
    fig = partial(
        figures.crossing,
        DOUBLINGS,
        {t("ways.way_mla_absorbed"): absorbed, t("ways.way_mla_each"): expanded},
        titles=(t("compute.axis_queries"), t("compute.axis_flop")),
        cross=cross,
        label=count(cross[0]) if cross else "",
        here=view.queries,
    )
    show(
        fig,
        "expansion",
        alt=words.plain(words.expansion(view)),
        data=partial(tables.expansion_numbers, view),
        file="compute_expansion.csv",
    )


def choosing(view: View) -> None:
    """FLOP over the context, with all keys and with chosen ones, and their crossing."""
    every, chosen = view.choosing_flops()
    wins = view.choosing_wins()
    fig = partial(
        figures.crossing,
        CONTEXTS,
        {label(view.ways, view.dense): every, label(view.ways, INDEXED): chosen},
        titles=(t("compute.axis_context"), t("compute.axis_flop")),
        cross=wins and (wins, view.cost(INDEXED, tokens=wins).total_flops),
        label=count(wins) if wins else "",
        here=view.context,
        roles=(view.dense, INDEXED),
    )
    show(
        fig,
        "choosing",
        alt=words.plain(words.choosing(view)),
        data=partial(tables.choosing_numbers, view),
        file="compute_choosing.csv",
    )


def over_contexts(view: View) -> None:
    """FLOP, and bytes of caches, of MLA and of what came after it over the context."""
    for key, work in (("flop", FLOPS), ("cache", cache_bytes)):
        amounts = view.over_contexts(work)
        ringed = key == "flop" and view.shown in view.later
        cross = view.lighter_from(view.shown) if ringed else None
        fig = partial(
            figures.crossing,
            CONTEXTS,
            {label(view.ways, code): line for code, line in amounts.items()},
            titles=(t("compute.axis_context"), t(f"compute.axis_of_{key}")),
            cross=cross and (cross, FLOPS(view.cost(view.shown, tokens=cross))),
            label=count(cross) if cross else "",
            here=view.context,
            roles=tuple(amounts),
        )
        show(
            fig,
            f"over_{key}",
            alt=after.over_alt(view, key, work),
            data=partial(tables.over_numbers, amounts),
            file=f"compute_over_{key}.csv",
        )


def products(view: View) -> None:
    """The FLOP of each product of the chosen way, in the order of computation."""
    flops = {name: view.layers * n for name, n in view.cost(view.shown).step_flops.items()}
    fig = partial(
        figures.bars,
        [symbol_html(name) for name in flops],
        {t("compute.column_flop"): list(flops.values())},
        axis=t("compute.column_flop"),
        totals=[flop(n) for n in flops.values()],
        height=96 + 30 * len(flops),
    )
    show(
        fig,
        "products",
        alt=after.products_alt(view),
        data=partial(tables.product_numbers, view),
        file="compute_products.csv",
    )


def turning(view: View) -> None:
    """Intensity of absorbed attention over heads x query tokens, against the ridge."""
    rows, ridge = view.turning_rows(), view.device.ridge
    against = t("compute.line_ridge", gpu=device_name(view.device))
    fig = partial(
        figures.crossing,
        DOUBLINGS,
        {t("compute.line_attention"): view.intensities(), against: [ridge] * len(DOUBLINGS)},
        titles=(t("compute.axis_rows"), t("compute.axis_intensity")),
        cross=rows and (rows, ridge),
        label=count(rows) if rows else "",
        here=view.rows,
        roles=("mla_absorbed", RIDGE),
    )
    show(
        fig,
        "turning",
        alt=words.plain(words.turning(view)),
        data=partial(tables.intensity_numbers, view),
        file="compute_intensity.csv",
    )


def timed(view: View, taken: Mapping[str, Timed]) -> None:
    """What was measured under this machine's own roof."""
    here, modelled, reached = machine(), {}, {}
    for code, one in taken.items():
        cost = one.trial.cost()
        intensity = cost.flops_per_byte
        modelled[code] = (intensity, here.attainable(intensity))
        reached[code] = (intensity, cost.total_flops / one.seconds)
    show(
        _under_roof(view.ways, here, modelled, reached),
        "measured_roof",
        alt=words.timed_alt(view, taken),
        data=partial(tables.timed_numbers, taken),
        file="compute_measured.csv",
    )
