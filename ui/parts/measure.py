"""The machine that the app runs on as a device: its name, and its rates, measured when asked for.

A measurement waits for its turn in the queue and is kept.
"""

import streamlit as st
import torch

from mla_engine import timing
from mla_engine.costs import Cost, Device
from ui.engine import queue
from ui.engine.device import DEVICE
from ui.words import numbers
from ui.words.numbers import count, prefixed, tied_size
from ui.words.text import sentences, t

DTYPE = torch.float32 if DEVICE == "cpu" else torch.bfloat16
THREADS = 1  # as the app sets it


@st.cache_resource(show_spinner=False)
def rate(kind: str) -> float:
    """Return FLOP/s of a product or bytes a second of a copy, measured once a server.

    Raises:
        FullError: too much waits to be run.
    """
    with queue.turn(whole=True), torch.inference_mode():
        if kind == "copy":
            return timing.copy_rate(DEVICE)
        return timing.product_rate(DEVICE, DTYPE)


def machine() -> Device:
    """Return this machine; the first call measures it.

    Raises:
        FullError: too much waits to be run.
    """
    return timing.measured_device(name(), rate("product"), rate("copy"), DTYPE)


def name() -> str:
    """Return the name of the device that the times are taken on."""
    if DEVICE == "cpu":
        return f"CPU, {THREADS} thread, float32"
    return f"{torch.cuda.get_device_name()}, bfloat16"


def here() -> str:
    """Return this machine's name, with threads and type; nothing is measured."""
    return t("measure.this_cpu_long", threads=THREADS) if DEVICE == "cpu" else name()


def compared(mla: Cost, mha: Cost, heads: int, tokens: int) -> str:
    """Say why absorbed MLA may take longer than MHA where both are timed."""
    key = "short" if mla.weight_bytes > mla.cache_read_bytes else "long"
    values = {
        "mla_adds": prefixed(mla.total_flops // 2),
        "mha_adds": prefixed(mha.total_flops // 2),
        "mla_bytes": tied_size(mla.total_bytes),
        "mha_bytes": tied_size(mha.total_bytes),
    }
    said = t("measure.compared", heads=numbers.heads(heads), tokens=count(tokens), **values)
    return sentences((said, t(f"measure.{key}")))


def device_name(device: Device) -> str:
    """Return a device in the reader's language."""
    own = DEVICE == "cpu" and device.name == name()
    return t("measure.this_cpu") if own else device.name
