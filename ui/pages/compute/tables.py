"""The tables of the compute page: as texts on the screen, as numbers in a download."""

from collections.abc import Mapping

import numpy as np

from mla_engine import costs
from mla_engine.late import Late
from ui.pages.compute.run import Timed
from ui.pages.compute.view import CONTEXTS, DOUBLINGS, View
from ui.parts.measure import machine
from ui.parts.ways import label
from ui.words.numbers import clock, digits, flop, tied_size, times
from ui.words.text import t

pd = Late("pandas")


def _shown(rows: Mapping[str, tuple[str, ...]], *columns: str) -> "pd.DataFrame":
    """Rows of texts by their names, under the columns' own texts."""
    names = [t(f"compute.column_{column}") for column in columns]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


def ways(view: View) -> "pd.DataFrame":
    """What each way costs."""
    rows = {}
    for code, n_bytes in view.bytes_in_all().items():
        cost = view.cost(code)
        bound = "compute" if view.device.compute_bound(cost) else "memory"
        rows[label(view.ways, code)] = (
            flop(view.layers * cost.total_flops),
            tied_size(n_bytes),
            digits(cost.flops_per_byte),
            t("compute.bound", time=clock(view.seconds(code)), by=t(f"compute.bound_{bound}")),
        )
    return _shown(rows, "flop", "bytes", "intensity", "seconds")


def devices() -> "pd.DataFrame":
    """All devices with rates, ridge and source."""
    rows = {
        gpu.name: (
            digits(gpu.flops_per_second / 1e12),
            digits(gpu.bytes_per_second / 1e9),
            digits(gpu.ridge),
            gpu.source,
        )
        for gpu in costs.GPUS.values()
    }
    return _shown(rows, "rate", "speed", "ridge", "source")


def timed(view: View, taken: Mapping[str, Timed]) -> "pd.DataFrame":
    """The bound, the measured time and their ratio of each way."""
    here, rows = machine(), {}
    for code, one in taken.items():
        bound = here.seconds(one.trial.cost())
        texts = clock(bound), clock(one.seconds), times(one.seconds / bound)
        rows[label(view.ways, code)] = texts
    return _shown(rows, "bound", "measured", "ratio")


def cost_numbers(view: View) -> "pd.DataFrame":
    """Every cost, for the download."""
    parts, rows = view.bytes_by_part(), []
    for place, (code, way) in enumerate(view.ways.items()):
        cost = view.cost(code)
        rows.append(
            {
                "way": code,
                "phase": "decode" if view.decoding else "prefill",
                "context": view.context,
                "query_tokens": view.queries if view.decoding else view.context,
                "batch": view.batch,
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


def expansion_numbers(view: View) -> "pd.DataFrame":
    """The two lines of the first crossing."""
    absorbed, expanded = view.expansion_flops()
    columns = {"query_tokens": DOUBLINGS, "absorbed_flop": absorbed, "expanded_flop": expanded}
    return pd.DataFrame(columns)


def choosing_numbers(view: View) -> "pd.DataFrame":
    """The two lines of the choice of keys."""
    every, chosen = view.choosing_flops()
    return pd.DataFrame({"tokens": CONTEXTS, "all_keys_flop": every, "chosen_keys_flop": chosen})


def over_numbers(amounts: Mapping[str, np.ndarray]) -> "pd.DataFrame":
    """What MLA and what came after it take over the context, a column a way."""
    return pd.DataFrame({"tokens": CONTEXTS, **amounts})


def product_numbers(view: View) -> "pd.DataFrame":
    """Every product of the chosen way, in the order of computation."""
    flops = view.cost(view.shown).step_flops
    numbers = [view.layers * n for n in flops.values()]
    return pd.DataFrame({"makes": list(flops), "flop": numbers}).assign(way=view.shown)


def intensity_numbers(view: View) -> "pd.DataFrame":
    """The two lines of the second crossing."""
    columns = {"heads_x_query_tokens": DOUBLINGS, "flop_per_byte": view.intensities()}
    return pd.DataFrame(columns).assign(ridge_flop_per_byte=view.device.ridge)


def timed_numbers(taken: Mapping[str, Timed]) -> "pd.DataFrame":
    """Modelled and measured, for the download."""
    here, rows = machine(), []
    for code, one in taken.items():
        trial, cost = one.trial, one.trial.cost()
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
                "measured_seconds": one.seconds,
                "device": here.name,
            }
        )
    return pd.DataFrame(rows)
