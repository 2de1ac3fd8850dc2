"""The topic of GPU memory, to the last cell and sentence."""

from collections.abc import Sequence

import pandas as pd
import pytest

from mla_engine.costs import GPUS, Serving
from tests.ui.pages.kv_cache.growth import growth
from tests.ui.pages.kv_cache.side import BYTES, Side
from tests.ui.screen import Chart
from ui.words.numbers import count

FILE = "kv_cache_memory.csv"
TIED = "\N{NO-BREAK SPACE}"


def _gpus(one: Side) -> str:
    return f"{one.ranks}{TIED}×{TIED}{GPUS[one.gpu].name}"


def drawn(charts: Sequence[Chart], one: Side, other: Side) -> str:
    (chart,) = charts
    held = [
        {
            n: [s.served(c).held_bytes(tokens, s.batch) for tokens in s.contexts]
            for n, c in s.ways.items()
        }
        for s in (one, other)
    ]
    on = one.served()
    level = chart.traces.pop()
    growth(
        chart, one, *held, places=one.contexts, at=one.context, y="cache on each GPU",
        top=on.gpu_bytes, limit=1.5 * on.gpu_bytes,
    )  # fmt: skip
    known = one.preset.parameters and on.free_bytes > 0
    name = "left by the weights" if known else f"all of a {GPUS[one.gpu].name}"
    height = (on.free_bytes if known else on.gpu_bytes) / one.in_unit
    assert (level["name"], level["text"]) == (name, [name, ""])
    assert level["x"] == [one.contexts[0], one.contexts[-1]]
    assert level["y"] == pytest.approx([height, height])
    assert level["hovertemplate"] == f"{name}<br>{height:,.4g} {one.unit}<extra></extra>"
    return (
        f"Cache of {one.name} on each of {_gpus(one)} against context length, with "
        f"{one.size(max(0, on.free_bytes))} free. At {count(one.context)} tokens it holds "
        f"{one.size(on.held_bytes(one.context, one.batch))}."
    )


def title(one: Side) -> str:
    on, kind = one.served(), "4 bit" if one.weights == "int4" else one.weights
    free, fits = one.size(on.free_bytes), count(on.largest_batch(one.context))
    if on.free_bytes <= 0:
        return (
            f"{one.name} in {kind} takes {one.size(on.rank_weight_bytes)} on each of {_gpus(one)}, "
            f"which has only {one.size(on.gpu_bytes)}"
        )
    return (
        f"Beside {one.name} in {kind}, {_gpus(one)} have {free} each: room for {fits} sequences "
        f"of {count(one.context)} tokens"
    )


def look(one: Side) -> str:
    if one.served().free_bytes <= 0:
        return (
            "The grey line is the whole memory of one GPU, with nothing taken off for the weights."
        )
    return (
        "The grey line is the memory that the weights leave of one GPU. Where another line "
        "crosses it the cache is full, so no longer text fits."
    )


def _longest(one: Side, on: Serving) -> int:
    """Return what fits, but no more than the model was published for."""
    return min(on.longest_context(one.batch), one.preset.max_context or 2**20)


def table(one: Side) -> pd.DataFrame:
    rows = {}
    for key, gpu in GPUS.items():
        on = one.served(gpu=key)
        fits = _longest(one, on), on.largest_batch(one.context)
        free = one.size(on.free_bytes) if on.free_bytes > 0 else "too small"
        rows[gpu.name + " ◀" * (key == one.gpu)] = (free, *map(count, fits))
    columns = ["Free on each GPU", f"Longest context, batch {count(one.batch)}"]
    columns += [f"Most sequences of {count(one.context)} tokens"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    on, parameters, most = one.served(), one.preset.parameters, one.preset.max_context
    assert parameters  # what is said of models without is tested by themselves
    own, mha = _longest(one, on), _longest(one, one.served(one.mha))
    about = ", a rounded count," if parameters % 10**8 == 0 else ""
    weights = (
        f"Weights: {count(parameters)} parameters{about} × {BYTES[one.weights]} bytes "
        f"over {one.ranks} GPUs: {one.size(on.rank_weight_bytes)} on each."
    )
    bound = (
        "In practice less fits: activations, buffers and fragmentation are not counted here; "
        "Planner sets 2 GiB of each GPU aside for them, so its numbers are lower. A maker's GB is "
        "taken as 1,000³ bytes; a card can have up to 7 % more."
    )
    if on.free_bytes <= 0:
        return [weights, bound]
    return [
        weights,
        f"With {_gpus(one)} a sequence can have {count(own)} tokens; MHA with these heads "
        f"stops at {count(mha)}.",
        bound,
        *[one.published] * bool(most and one.context <= most == own),
    ]


def data(one: Side) -> list[dict]:
    rows = []
    for key, gpu in GPUS.items():
        on = one.served(gpu=key)
        rows.append(
            {
                "model": one.name,
                "gpu": gpu.name,
                "gpus": one.ranks,
                "attention": one.attention,
                "memory_bytes": on.gpu_bytes,
                "weight_bytes_each": on.rank_weight_bytes,
                "free_bytes_each": on.free_bytes,
                "cache_bytes_per_token_each": on.token_bytes,
                "batch": one.batch,
                "longest_context_tokens": _longest(one, on),
                "context_tokens": one.context,
                "largest_batch": on.largest_batch(one.context),
            }
        )
    return rows
