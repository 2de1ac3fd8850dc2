"""What the topic of several GPUs has to show, to the last cell and sentence."""

from collections.abc import Sequence

import pandas as pd

from tests.ui.pages.kv_cache.growth import growth
from tests.ui.pages.kv_cache.side import Side
from tests.ui.screen import Chart
from ui.words.numbers import count, digits
from ui.words.text import tensor

FILE = "kv_cache_parallel.csv"


def drawn(charts: Sequence[Chart], one: Side, other: Side) -> str:
    (chart,) = charts
    held = [
        {n: [s.each(*how, ranks) for ranks in s.splits] for n, (_, *how) in s.shares.items()}
        for s in (one, other)
    ]
    growth(
        chart, one, held[0], held[1], places=one.splits, at=one.ranks, x="GPUs",
        y="cache on each GPU",
    )  # fmt: skip
    ticks = one.splits[::2] if one.log else one.splits[-3:]
    assert chart.layout["xaxis"]["tickvals"] == ticks
    assert chart.layout["xaxis"]["ticktext"] == [count(n) for n in ticks]
    said = "; ".join(
        f"{n} {one.size(one.each(*how, one.ranks))}" for n, (_, *how) in one.shares.items()
    )
    return f"Cache of {one.name} on each GPU against their number. On {one.ranks} GPUs: {said}."


def title(one: Side) -> str:
    how = one.config, None, "tensor"
    held, whole = (one.size(one.each(*how, ranks)) for ranks in (one.ranks, 1))
    return (
        f"{one.ranks} GPUs keep {held} each of {one.name}'s {whole} cache: "
        f"{digits(one.copies(*how, one.ranks))} copies in all"
    )


def look(_: Side) -> str:
    return (
        "Falling lines are split among the GPUs, flat ones are repeated on each. MLA's latent "
        f"{tensor('c_KV')} serves all heads, so splitting by heads leaves it whole on every GPU; "
        "splitting by sequences does not."
    )


def table(one: Side) -> pd.DataFrame:
    rows = {}
    for name, (_, *how) in one.shares.items():
        each = one.each(*how, one.ranks)
        copies = digits(one.copies(*how, one.ranks))
        rows[name] = (one.size(each), one.size(one.ranks * each), copies)
    columns = [f"Each of {one.ranks} GPUs", "All together", "Copies"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    return [
        f"Heads are split down to one KV head per GPU. By sequences, {count(one.sequences)} are "
        f"split over {one.ranks} GPUs: the fullest has {-(-one.sequences // one.ranks)}, each of "
        "them whole (deepseek-ai/DeepSeek-V3 #283; sgl-project/sglang #1970). All layers are "
        "counted, weights are not."
    ]


def data(one: Side) -> list[dict]:
    return [
        {
            "model": one.name,
            "sharing": code,
            "gpus": ranks,
            "context_tokens": one.context,
            "sequences": one.sequences,
            "bytes_each": one.each(*how, ranks),
            "copies": one.copies(*how, ranks),
        }
        for code, *how in one.shares.values()
        for ranks in one.splits
    ]
