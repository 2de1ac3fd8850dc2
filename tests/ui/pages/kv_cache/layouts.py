"""The topic of layouts, to the last cell and sentence."""

from collections.abc import Sequence

import pandas as pd

from mla_engine import costs
from tests.ui.pages.kv_cache import rows
from tests.ui.pages.kv_cache.side import Side
from tests.ui.screen import Chart
from ui.words.numbers import count, size, times
from ui.words.text import tensor

FILE = "kv_cache_layouts.csv"


LAYOUTS = {
    "mha": "MHA", "full": "heads in full", "copy": "latent + copy", "latent": "latent",
}  # fmt: skip
PARTS = {
    "key": "keys", "rope": "rotary keys", "latent": "latent", "value": "values",
    "index": "index keys",
}  # fmt: skip


def drawn(charts: Sequence[Chart], one: Side, _: Side) -> str:
    if one.is_uneven:
        every, own = charts
        rows.drawn(every, one, list(rows.caches(one)))
        return rows.drawn(own, one, [one.own])
    *layouts, after = charts
    kept = costs.layouts(one.latents)
    for chart, drawn in zip(layouts, (list(LAYOUTS), ["copy", "latent"]), strict=True):
        names = [LAYOUTS[layout] for layout in drawn]
        *bars, totals = chart.traces
        parts = {
            part: name
            for part, name in PARTS.items()
            if any(kept[layout][part] for layout in drawn)
        }
        assert [bar["name"] for bar in bars] == list(parts.values())
        for bar, (part, name) in zip(bars, parts.items(), strict=True):
            assert list(chart.values(bar, "x")) == [kept[layout][part] for layout in drawn]
            assert bar["y"] == list(range(len(drawn)))
            assert bar["orientation"] == "h"
            assert bar["customdata"] == names
            hover = f"%{{customdata}}<br>{name}<br>%{{x:,.4g}} numbers per token and layer"
            assert bar["hovertemplate"] == f"{hover}<extra></extra>"
        sums = [sum(kept[layout].values()) for layout in drawn]
        assert totals["text"] == [f" {count(n)}" for n in sums]
        assert (totals["x"], totals["y"]) == (sums, list(range(len(drawn))))
        assert chart.axis("x") == "numbers per token and layer"
        assert chart.layout["yaxis"]["ticktext"] == names
        assert chart.layout["yaxis"]["tickvals"] == list(range(len(drawn)))
        assert chart.layout["yaxis"]["range"][0] > chart.layout["yaxis"]["range"][1]
        assert chart.layout["barmode"] == "stack"
        assert chart.layout["showlegend"] == (len(drawn) > 2)
        said = "; ".join(f"{n} {count(total)}" for n, total in zip(names, sums, strict=True))
        alt = f"Numbers per token and layer that {one.name} keeps, by layout: {said}."
        assert chart.alt == alt
    return rows.drawn(after, one, list(rows.caches(one)))


def title(one: Side) -> str:
    if one.is_uneven:
        return rows.title(one)
    kept = {layout: sum(parts.values()) for layout, parts in costs.layouts(one.latents).items()}
    return (
        f"{one.name} keeps {count(kept['latent'])} numbers per token and layer as a latent, "
        f"{count(kept['copy'])} with a copy, {count(kept['full'])} as full heads "
        f"({times(kept['full'] / kept['latent'])})"
    )


def look(one: Side) -> str:
    if one.is_uneven:
        return (
            "Not every token has a row of its own here. The bars count what one layer keeps at the "
            "chosen length: choose another to see what grows and what stays. The lower chart "
            "magnifies the model's own."
        )
    return (
        "The same layer can keep its cache in several layouts. Only the one with just "
        f"{tensor('c_KV')} and {tensor('k_R')} is MLA's small cache; the lower chart magnifies it."
    )


def tables(one: Side) -> list[pd.DataFrame]:
    return [rows.table(one)] if one.is_uneven else [table(one), rows.table(one)]


def table(one: Side) -> pd.DataFrame:
    kept = {layout: sum(parts.values()) for layout, parts in costs.layouts(one.latents).items()}
    tokens = f"{count(one.context)} tokens"
    found = {}
    for layout, numbers in kept.items():
        held = one.bytes_of(numbers, one.context)
        ratio = times(numbers / kept["latent"])
        found[LAYOUTS[layout]] = (size(held), size(held, binary=False), ratio)
    columns = [f"{tokens}, 1,024³", f"{tokens}, 1,000³", "Times the latent"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    if one.is_uneven:
        return rows.said(one)
    kept = {layout: sum(parts.values()) for layout, parts in costs.layouts(one.latents).items()}
    said = [
        f"Two baselines give two ratios: **{times(kept['full'] / kept['latent'])}** against its "
        f"own heads in full ({count(kept['full'])} numbers), "
        f"**{times(kept['mha'] / kept['latent'])}** against plain MHA of the same heads "
        f"({count(kept['mha'])} numbers, $n_h (d_h + d_v)$). A ratio without its baseline says "
        "little.",
        "**Heads in full**: $n_h (d_h + d_R + d_v)$. This is what a model keeps if it up-projects "
        "before caching, as the published modelling code and transformers did "
        f"(deepseek-ai/DeepSeek-R1 #238); the rotary key {tensor('k_R')} is repeated for every "
        "head.",
        f"**Latent + copy**: $d_c + d_R + d_c$. Some kernels keep the latent {tensor('c_KV')} a "
        "second time, transposed, to read it as values (ikawrakow/ik_llama.cpp #235 made that "
        "optional).",
    ]
    assumed = (
        "This model has no MLA: these are the layouts of one in DeepSeek-V2's proportions, "
        f"$d_c$ = {count(one.mla.d_latent_kv)} and $d_R$ = {one.mla.d_rope}."
    )
    if one.is_dsa:
        said.append(
            f"Beside every layout stands the key of the indexer, $d_I$ = {one.config.d_index} "
            "numbers per token: with the latent and the rotary key it is all that sparse attention "
            "(DSA) keeps."
        )
    after = (
        "**What came after MLA** does not always keep a row for each token, so it is counted at a "
        f"length. Of {count(one.context)} tokens a layer keeps:"
    )
    return said + [assumed] * (not one.is_mla) + [after, *rows.said(one)]


def data(one: Side) -> list[dict]:
    kept = costs.layouts(one.latents)
    return [
        {
            "model": one.name,
            "cache": layout,
            "is_the_models_own": layout == ("latent" if one.is_mla else one.preset.kind.lower()),
            **dict.fromkeys((f"{kind}_numbers" for kind in rows.KINDS), 0),
            **{f"{part}_numbers": parts[part] * one.context for part in PARTS},
            "numbers_of_a_layer": sum(parts.values()) * one.context,
            "context_tokens": one.context,
            "bytes": one.bytes_of(sum(parts.values()), one.context),
        }
        for layout, parts in kept.items()
    ] + rows.data(one)
