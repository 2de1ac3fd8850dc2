"""The words of the compute page: title, table and sentences, with the numbers of its scene."""

import re
from collections.abc import Mapping

import pandas as pd

from mla_engine import GroupedConfig, LatentConfig, costs
from mla_engine.costs import Device
from ui import compute_page_measure as measure
from ui import model
from ui.compute_page import Scene
from ui.compute_page_measure import Trial, Way, machine
from ui.state import settings
from ui.text import count, digits, size, t, times

PREFIXES = ("", "k", "M", "G", "T", "P", "E")
CLOCKS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
TIED = "\N{NO-BREAK SPACE}"


def prefixed(number: float) -> str:
    """A number with a prefix of 1,000s, "1.23 T"."""
    place = 0
    while number >= 1000 and place < len(PREFIXES) - 1:
        number, place = number / 1000, place + 1
    return f"{digits(number)}{TIED}{PREFIXES[place]}"


def flop(number: float) -> str:
    """FLOP with a prefix, "1.23 TFLOP"."""
    return f"{prefixed(number)}FLOP"


def clock(seconds: float) -> str:
    """A time with its unit, "12.3 µs"."""
    step, unit = next(((s, u) for s, u in CLOCKS if seconds >= s), CLOCKS[-1])
    return f"{digits(seconds / step)}{TIED}{unit}"


def plain(text: str) -> str:
    """A text without its colours, for alt texts."""
    return re.sub(r"<[^>]+>|\*\*", "", text)


def label(ways: Mapping[str, Way], code: str) -> str:
    """The short name of a way; in prefill MLA is expanded once, not each step."""
    if code == "gqa":
        return t("compute.way_gqa", n=ways[code].config.n_kv_heads)
    if code == "mla_each" and "mla_kv" not in ways:
        return t("compute.way_mla_expanded")
    return t(f"compute.way_{code}")


def device_name(device: Device, long: bool = False) -> str:
    """A device in the reader's language; `long` adds threads and type to this machine's CPU."""
    if device.name != measure.name() or measure.DEVICE != "cpu":
        return device.name
    return t("compute.this_cpu_long", threads=measure.THREADS) if long else t("compute.this_cpu")


def of_model() -> str:
    """The chosen sizes by name."""
    name = model.preset_name(settings()["preset"])
    return t("compute.changed", name=name) if model.changed_sizes() else name


def title(shown: Scene) -> str:
    """A statement with live numbers: intensities against the ridge, or two least times."""
    values = {"model": of_model(), "gpu": device_name(shown.device), "tokens": count(shown.context)}
    if not shown.decoding:
        seconds = {c: clock(shown.seconds(c)) for c in ("mla_each", "mla_absorbed")}
        return t("compute.title_prefill", **values, **seconds)
    numbers = {code: digits(shown.cost(code).flops_per_byte) for code in ("mha", "mla_absorbed")}
    return t("compute.title_decode", **values, **numbers, ridge=digits(shown.device.ridge))


def costs_table(shown: Scene) -> pd.DataFrame:
    """One row a way, as text."""
    rows = {}
    for code in shown.ways:
        cost = shown.cost(code)
        bound = "compute" if shown.device.compute_bound(cost) else "memory"
        rows[label(shown.ways, code)] = (
            flop(shown.layers * cost.total_flops),
            size(shown.layers * cost.total_bytes, binary=False).replace(" ", TIED),
            digits(cost.flops_per_byte),
            t("compute.bound", time=clock(shown.seconds(code)), by=t(f"compute.bound_{bound}")),
        )
    columns = [t(f"compute.column_{c}") for c in ("flop", "bytes", "intensity", "seconds")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def counted(shown: Scene) -> str:
    """What the numbers are of."""
    key = "counted_decode" if shown.decoding else "counted_prefill"
    return t(
        f"compute.{key}",
        layers=count(shown.layers),
        batch=count(shown.batch),
        tokens=count(shown.context),
        queries=count(shown.queries),
        width=f"{shown.device.dtype_bytes:g}",
    )


def source(shown: Scene) -> str:
    """The device's rates and where they are from."""
    device = shown.device
    return t(
        "compute.source",
        gpu=device_name(device),
        rate=digits(device.flops_per_second / 1e12),
        speed=digits(device.bytes_per_second / 1e9),
        source=device.source if device in costs.GPUS.values() else t("compute.source_this"),
    )


def devices() -> pd.DataFrame:
    """All devices of the table with rates, ridge and source."""
    rows = {
        gpu.name: (
            digits(gpu.flops_per_second / 1e12),
            digits(gpu.bytes_per_second / 1e9),
            digits(gpu.ridge),
            gpu.source,
        )
        for gpu in costs.GPUS.values()
    }
    columns = [t(f"compute.column_{c}") for c in ("rate", "speed", "ridge", "source")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def assumed(latent: LatentConfig) -> str:
    """Where the latent comes from when the preset has none."""
    if not isinstance(model.base(), GroupedConfig):
        return ""
    return t("compute.assumed", latent=latent.d_latent_kv, rope=latent.d_rope)


def roof_alt(shown: Scene) -> str:
    """The roofline in words."""
    marks = t("compute.between").join(
        f"{label(shown.ways, c)} {digits(x)}" for c, (x, _) in shown.places().items()
    )
    return t(
        "compute.alt_roof",
        gpu=device_name(shown.device),
        ridge=digits(shown.device.ridge),
        at=marks,
    )


def bytes_alt(shown: Scene) -> str:
    """The bars in words."""
    table = costs_table(shown)
    held = t("compute.between").join(f"{name} {row.iloc[1]}" for name, row in table.iterrows())
    return t("compute.alt_bytes", held=held)


def expansion(shown: Scene) -> str:
    """Where expanding beats absorbing: by FLOP, endlessly long, and by the device's clock."""
    by_flop = shown.expansion_crossing()
    by_clock = costs.expanding_wins(shown.latent, shown.context, shown.device, batch=shown.batch)
    values = {"tokens": count(shown.context), "gpu": device_name(shown.device)}
    if by_flop is None:
        return t("compute.never_expand", **values)
    values |= {"queries": count(by_flop[0]), "limit": digits(costs.crossover_queries(shown.latent))}
    clocked = t("compute.never") if by_clock is None else count(by_clock)
    return t("compute.expand", **values, clocked=clocked)


def turning(shown: Scene) -> str:
    """Where absorbed attention alone turns compute-bound, and whether the present step is there."""
    rows = costs.attention_turns(shown.latent, shown.context, shown.device)
    heads, queries = shown.latent.n_heads, shown.queries
    here = "compute" if rows is not None and heads * queries >= rows else "memory"
    return t(
        "compute.turning",
        gpu=device_name(shown.device),
        ridge=digits(shown.device.ridge),
        rows=t("compute.never") if rows is None else count(rows),
        heads=count(heads),
        queries=count(queries),
        product=count(heads * queries),
        bound=t(f"compute.bound_{here}"),
    )


def batches(shown: Scene) -> str:
    """From how many sequences on each way's whole step is compute-bound."""
    if not shown.decoding:
        return ""
    found = {label(shown.ways, code): shown.turning_batch(code) for code in shown.ways}
    said = [
        t("compute.batch_of", name=name, n=t("compute.never") if n is None else count(n))
        for name, n in found.items()
    ]
    gpu = device_name(shown.device)
    return t("compute.batches", gpu=gpu, said=t("compute.between").join(said))


def measured_table(shown: Scene, taken: dict[str, tuple[Trial, float]]) -> pd.DataFrame:
    """One row a way: the bound, the measured time, their ratio, as text."""
    here, rows = machine(), {}
    for code, (trial, measured) in taken.items():
        bound = here.seconds(trial.cost())
        rows[label(shown.ways, code)] = (clock(bound), clock(measured), times(measured / bound))
    columns = [t(f"compute.column_{c}") for c in ("bound", "measured", "ratio")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def tried(trial: Trial) -> str:
    """Which sizes were timed, on what."""
    key = "tried_decode" if trial.decoding else "tried_prefill"
    here = machine()
    return t(
        f"compute.{key}",
        machine=device_name(here, long=True),
        heads=count(trial.heads),
        tokens=count(trial.context),
        queries=count(trial.queries),
        rate=f"{digits(here.flops_per_second / 1e9)}{TIED}GFLOP/s",
        speed=f"{digits(here.bytes_per_second / 1e9)}{TIED}GB/s",
    )
