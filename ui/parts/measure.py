"""Times that are taken here: of this machine's rates, and of every way at sizes that it can run.

Each piece is short, waits for its turn in the queue and is kept; between two pieces a reader can
stop. The public call runs once, with its checks; its formulas alone are timed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st
import torch

from mla_engine import costs, timing
from mla_engine.costs import Cost, Device
from ui.engine import queue
from ui.engine.layers import DEVICE
from ui.parts.ways import Way
from ui.words.text import t

DTYPE = torch.float32 if DEVICE == "cpu" else torch.bfloat16
THREADS = 1  # as the app sets it
MOST_HEADS = 4 if DEVICE == "cpu" else 128
MOST_BYTES = 2**26  # of weights or of a cache
MOST_SECONDS = 0.02  # of one call by the model; it runs about four times


@dataclass(frozen=True)
class Trial:
    """One way at the sizes that are timed, a single sequence."""

    way: Way
    decoding: bool
    heads: int
    context: int
    queries: int

    def cost(self) -> Cost:
        """What the model says of exactly these sizes."""
        given = {"heads": range(self.heads), "dtype_bytes": DTYPE.itemsize}
        if not self.decoding:
            return costs.prefill(self.way.config, self.context, self.way.form, **given)
        given |= {"cache": self.way.cache, "new_tokens": self.queries}
        return costs.decode(self.way.config, self.context, self.way.form, **given)


@st.cache_resource(show_spinner=False)
def rate(kind: str) -> float:
    """FLOP/s of a product or bytes a second of a copy, measured once a server."""
    with queue.turn(), torch.inference_mode():
        if kind == "copy":
            return timing.copy_rate(DEVICE)
        return timing.product_rate(DEVICE, DTYPE)


def machine() -> Device:
    """This machine; the first call measures it."""
    return timing.measured_device(name(), rate("product"), rate("copy"), DTYPE)


def name() -> str:
    """What the times are taken on."""
    if DEVICE == "cpu":
        return f"CPU, {THREADS} thread, float32"
    return f"{torch.cuda.get_device_name()}, bfloat16"


def trials(ways: Mapping[str, Way], decoding: bool, context: int, queries: int) -> dict[str, Trial]:
    """Every way, with heads, context and queries halved until the machine runs all in a moment.

    All ways get the same sizes, so that their times compare.
    """
    heads = min(MOST_HEADS, *(way.config.n_heads for way in ways.values()))
    queries = min(queries, context)

    def tried() -> dict[str, Trial]:
        return {code: Trial(w, decoding, heads, context, queries) for code, w in ways.items()}

    while heads > 1 and max(t.cost().weight_bytes for t in tried().values()) > MOST_BYTES:
        heads = (heads + 1) // 2
    while context > 1 and not all(map(_affordable, tried().values())):
        context //= 2
        queries = min(queries, context)
    return tried()


def _affordable(trial: Trial) -> bool:
    cost = trial.cost()
    weights_aside = cost.total_bytes - cost.weight_bytes
    return weights_aside <= MOST_BYTES and machine().seconds(cost) <= max(
        MOST_SECONDS, 1.5 * cost.weight_bytes / machine().bytes_per_second
    )


@st.cache_data(max_entries=256, show_spinner=False)
def seconds(trial: Trial) -> float:
    """The time that one call takes here.

    Raises:
        MemoryBudgetError: in the engine's words.
    """
    way, tokens = trial.way, trial.queries if trial.decoding else trial.context
    with queue.turn(), torch.inference_mode():
        layer = timing.layer_of_zeros(way.config, range(trial.heads), DTYPE, DEVICE)
        h = torch.zeros(1, tokens, way.config.d_model, dtype=DTYPE, device=DEVICE)
        if not trial.decoding:
            return timing.seconds(timing.prefill(layer, h, way.form), DEVICE)
        cache = timing.cache_of_zeros(layer, trial.context, tokens, way.cache)
        return timing.seconds(timing.step(layer, h, cache, way.form), DEVICE)


def table(taken: dict[str, tuple[Trial, float]]) -> pd.DataFrame:
    """Modelled and measured as numbers, for the download."""
    here = machine()
    rows = [
        {
            "way": code,
            "phase": "decode" if trial.decoding else "prefill",
            "heads": trial.heads,
            "context": trial.context,
            "query_tokens": trial.queries if trial.decoding else trial.context,
            "flop": trial.cost().total_flops,
            "bytes": trial.cost().total_bytes,
            "modelled_seconds": here.seconds(trial.cost()),
            "measured_seconds": measured,
            "device": here.name,
        }
        for code, (trial, measured) in taken.items()
    ]
    return pd.DataFrame(rows)


def device_name(device: Device, long: bool = False) -> str:
    """A device in the reader's language; `long` adds threads and type to this machine's CPU."""
    if device.name != name() or DEVICE != "cpu":
        return device.name
    return t("measure.this_cpu_long", threads=THREADS) if long else t("measure.this_cpu")
