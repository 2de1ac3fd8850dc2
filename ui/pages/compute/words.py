"""The words of the compute page: title, table and sentences, with the numbers of its scene."""

import re

import pandas as pd

from mla_engine import costs
from ui.pages.compute.view import Scene
from ui.parts.measure import Trial, device_name, machine
from ui.parts.ways import label, of_model
from ui.words.numbers import TIED, clock, count, digits, flop, size, times
from ui.words.text import t


def plain(text: str) -> str:
    """A text without its colours, for alt texts."""
    return re.sub(r"<[^>]+>|\*\*", "", text)


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
