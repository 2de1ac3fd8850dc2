"""The topic of several GPUs, to the last cell and sentence."""

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
        {n: [each(ranks) for ranks in s.splits] for n, (_, each) in s.shares.items()}
        for s in (one, other)
    ]
    growth(
        chart, one, held[0], held[1], places=one.splits, at=one.ranks, x="GPUs",
        y="cache on each GPU",
    )  # fmt: skip
    ticks = one.splits[::2] if one.log else one.splits[-3:]
    assert chart.layout["xaxis"]["tickvals"] == ticks
    assert chart.layout["xaxis"]["ticktext"] == [count(n) for n in ticks]
    said = "; ".join(f"{n} {one.size(each(one.ranks))}" for n, (_, each) in one.shares.items())
    return f"Cache of {one.name} on each GPU against their number. On {one.ranks} GPUs: {said}."


def title(one: Side) -> str:
    each = one.by_heads(one.config)
    held, whole = (one.size(each(ranks)) for ranks in (one.ranks, 1))
    copies = digits(one.ranks * each(one.ranks) / each(1))
    return (
        f"{one.ranks} GPUs keep {held} each of {one.name}'s {whole} cache: {copies} copies in all"
    )


def look(one: Side) -> str:
    more = " The one vector of CSA and HCA serves all heads too. "
    more += "KDA's states are split with their heads."
    return (
        "Falling lines are split among the GPUs, flat ones are repeated on each. MLA's latent "
        f"{tensor('c_KV')} serves all heads: split by heads, each GPU caches all of it. Split "
        f"by sequences, each caches only its own.{more if one.split == 'all' else ''}"
    )


def table(one: Side) -> pd.DataFrame:
    rows = {}
    for name, (_, each) in one.shares.items():
        together = one.ranks * each(one.ranks)
        rows[name] = one.size(each(one.ranks)), one.size(together), digits(together / each(1))
    columns = [f"Each of {one.ranks} GPUs", "All together", "Copies"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    return [
        f"Heads are split down to one KV head per GPU. By sequences, {count(one.sequences)} are "
        f"split over {one.ranks} GPUs: the fullest has {-(-one.sequences // one.ranks)}, each of "
        "them whole (deepseek-ai/DeepSeek-V3 #283; sgl-project/sglang #1970). All layers are "
        "counted, weights are not.",
        *_halved(one),
    ]


def _halved(one: Side) -> list[str]:
    latent, rope = one.mla.d_latent_kv, one.mla.d_rope
    said = (
        "GLA-2 gives each half of the heads a latent of its own, half as long: from 2 GPUs on "
        f"each keeps {count(latent // 2 + rope)} numbers per token and layer, where MLA keeps all "
        f"{count(latent + rope)} (arXiv 2505.21487)."
    )
    return [said] * (one.split == "all" and one.config.n_heads % 2 == 0)


def data(one: Side) -> list[dict]:
    return [
        {
            "model": one.name,
            "sharing": code,
            "gpus": ranks,
            "context_tokens": one.context,
            "sequences": one.sequences,
            "bytes_each": each(ranks),
            "copies": ranks * each(ranks) / each(1),
        }
        for code, each in one.shares.values()
        for ranks in one.splits
    ]
