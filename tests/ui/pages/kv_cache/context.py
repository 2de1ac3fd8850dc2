"""The topic of context lengths, to the last cell and sentence."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from mla_engine import (
    DeltaConfig,
    GroupedConfig,
    IndexedConfig,
    LatentConfig,
    PooledConfig,
    PooledIndexConfig,
    costs,
)
from tests.ui.pages.kv_cache import rows
from tests.ui.pages.kv_cache.growth import growth
from tests.ui.pages.kv_cache.side import BYTES, POWERS, Side, kind_of
from tests.ui.screen import Chart
from ui.words.numbers import amount, count, mixed, times
from ui.words.text import tensor

FILE = "kv_cache_context.csv"


def drawn(charts: Sequence[Chart], one: Side, other: Side) -> str:
    """The chart by context; its alternative text."""
    (chart,) = charts
    held = [
        {n: [s.held(c, tokens) for tokens in s.contexts] for n, c in s.ways.items()}
        for s in (one, other)
    ]
    growth(chart, one, *held, places=one.contexts, at=one.context)
    dots = [trace for trace in chart.traces if trace["mode"] == "markers"]
    measured = one.type in ("fp32", "bf16")
    assert [d["name"] for d in dots] == [f"{n}, measured" for n in one.ways if measured]
    for dot, (name, config) in zip(dots, one.ways.items(), strict=False):
        assert list(chart.values(dot, "x")) == one.measured(config)
        assert chart.values(dot, "y") * one.in_unit == pytest.approx(np.array(one.reserved(config)))
        line = chart.trace(name)
        assert dot["hovertemplate"] == f"measured<br>{line['hovertemplate']}"
        assert dot["marker"]["color"] == line["line"]["color"]
        assert chart.traces.index(dot) == chart.traces.index(line) + 1
    ways = "; ".join(f"{n} {one.size(one.held(c, one.context))}" for n, c in one.ways.items())
    return f"Cache of {one.name} against context length. At {count(one.context)} tokens: {ways}."


def title(one: Side) -> str:
    held, mha = (one.held(c, one.context) for c in (one.ways[one.own], one.mha))
    preset = one.preset
    beyond = preset.max_context and one.context > preset.max_context
    bound = "alternating local and global layers" in preset.not_modelled
    verb = ("would keep" if beyond else "keeps") + (" at most" if bound else "")
    return (
        f"{one.name} {verb} {one.size(held)} for {count(one.context)} tokens; standard "
        f"attention (MHA) with its heads would keep {one.size(mha)}, {times(mha / held)} as much"
    )


def look(one: Side, other: Side) -> str:
    bends = (
        " Only a line with windows bends: where they are full, its layers with a window stop "
        "growing."
    ) * bool(one.windows or other.windows)
    start = f"The solid line is MLA, which keeps only {tensor('c_KV')} and {tensor('k_R')}. "
    every = one.lines == "all"
    if one.log:
        more = (
            " CSA and HCA bend where the window is full and entries begin to count; KDA is flat, "
            "its state does not grow."
        )
        return (
            f"{start}Both axes are logarithmic: the distance between two lines is their ratio, "
            f"the same at every length.{bends}{more * every}"
        )
    return (
        f"{start}All grow in proportion to the context; only the slope, the numbers kept per "
        f"token, tells them apart.{bends}{' KDA does not grow at all.' * every}"
    )


def sum_of(one: Side, config: object) -> str:
    """Return how the numbers of a token come about, and what does not grow."""
    if isinstance(config, DeltaConfig):
        return f"0, and {count(one.of_layer(config, 1, 4) / 4)} besides"
    if isinstance(config, PooledConfig):
        wide, m = config.d_head, config.pooling
        if not m:
            return f"0, and {count(128 * wide)} besides"
        each = (wide + (config.d_index or 0)) / m
        index = f"({count(wide)} + {config.d_index})" if config.d_index else count(wide)
        most = max(one.of_layer(config, n, 4) / 4 - each * n for n in range(127, 600))
        return f"{index} / {m} = {amount(each)}, and at most {count(most)} besides"
    total = count(costs.cache_elements(config))
    if isinstance(config, PooledIndexConfig):
        m, x = config.pooling, config.d_index
        each, most = config.d_latent_kv + x / m, 2 * (m - 1) * x - (m - 1) * x / m
        kept = f"{count(config.d_latent_kv)} + {x} / {m} = {amount(each)}"
        return f"{kept}, and at most {count(most)} besides"
    if isinstance(config, LatentConfig):
        index = f" + {config.d_index}" if isinstance(config, IndexedConfig) else ""
        rope = f" + {config.d_rope}" if config.d_rope else ""
        parts = f"{count(config.d_latent_kv)}{rope}{index}"
        return f"{parts} = {total}" if parts != total else total
    keys, values, g = config.d_head, config.d_value, config.n_kv_heads
    of_token = f"2 × {g} × {keys}" if keys == values else f"{g} × ({keys} + {values})"
    window = config.sliding_window
    last = f", of the last {count(window)} tokens" if window else ""
    return f"{of_token} = {total}{last}"


def _mean(one: Side) -> str:
    total = sum(
        costs.cache_elements(c) * n
        for c, n in one.preset.kinds
        if not vars(c).get("sliding_window")
    )
    return f"{amount(total)} / {one.caches} = {amount(total / one.caches)}"


def _product(one: Side) -> str:
    """The sentence on the model's own bytes."""
    held = f"**{one.size(one.held(one.config, one.context))}**."
    rest = f"{count(one.context)} tokens × batch {one.batch}"
    if one.mixed:
        each = (
            f"{n} × {kind_of(c)} {sum_of(one, c).split(', of the')[0]}" for c, n in one.preset.kinds
        )
        return (
            f"★ Of each token its layers keep {'; '.join(each)} numbers. For {rest} in "
            f"{one.type} that is {held}"
        )
    if one.windows:
        return _product_of_rows(one)
    own = count(costs.cache_elements(one.config))
    return (
        f"★ This model keeps {own} numbers × {one.caches} caches × {rest} × {BYTES[one.type]} "
        f"bytes = {held}"
    )


def table(one: Side) -> pd.DataFrame:
    mha = one.held(one.mha, one.context)
    return pd.DataFrame.from_dict(
        {
            name: (
                _mean(one) if one.mixed and name == one.own else sum_of(one, config),
                one.size(one.held(config, one.context)),
                times(mha / one.held(config, one.context)),
            )
            for name, config in one.ways.items()
        },
        orient="index",
        columns=["Numbers per token and layer", f"{count(one.context)} tokens", "MHA / this"],
    )


def said(one: Side) -> list[str]:
    kept = costs.cache_elements(one.mla)
    groups = mixed(kept / (one.mla.d_head + one.mla.d_value))
    full = one.config.n_heads * (one.mla.d_head + one.mla.d_rope + one.mla.d_value)
    base = "“MHA / this” compares with MHA of the same heads, $n_h (d_h + d_v)$. "
    if one.is_uneven:
        product = _product(one) if one.mixed else _product_of_rows(one)
        return [product, (base + rows.beside(one)).strip()]
    if one.is_mla:
        base += (
            "Against the keys and values of its own heads in full, $n_h (d_h + d_R + d_v)$ = "
            f"{count(full)} numbers, the ratio is {times(full / kept)}."
        )
    else:
        base += (
            "This model has no MLA: the line assumes one in DeepSeek-V2's proportions, "
            f"$d_c = 4 d_h$ = {count(one.mla.d_latent_kv)} and $d_R = d_h / 2$ = {one.mla.d_rope}."
        )
    return [
        _product(one),
        f"{base} Same memory as GQA with {groups} KV heads.",
    ]


def _numbers(one: Side, name: str, config: object) -> float:
    kinds = one.preset.kinds if one.mixed and name == one.own else ((config, one.caches),)
    grown = ((c, n) for c, n in kinds if not vars(c).get("sliding_window"))
    return sum(costs.cache_elements(c) * n for c, n in grown) / one.caches


def _product_of_rows(one: Side) -> str:
    found = one.rows(one.config)
    each = one.size(sum(n_bytes for _, n_bytes in found.values()))
    return (
        f"★ Of {count(one.context)} tokens a layer of this model keeps {each} "
        f"({rows.told(found)}) × {one.caches} caches × batch {one.batch} = "
        f"**{one.size(one.held(one.config, one.context))}**."
    )


def data(one: Side) -> list[dict]:
    codes = {kind.upper(): kind for kind in ("mha", "mqa", "mla", "dsa", "csa", "hca", "kda")}
    codes |= {"CSA + HCA": "csa", "MLA + KDA": "mla", "Block DSA": "block_dsa"}
    codes |= {"Block DSA + KDA": "block_dsa"}
    return [
        {
            "model": one.name,
            "cache": codes.get(name.removesuffix(" ★").removesuffix(", assumed"), "gqa"),
            "kv_heads": config.n_kv_heads if isinstance(config, GroupedConfig) else "",
            "is_the_models_own": name == one.own,
            "layers": one.caches,
            "batch": one.batch,
            "type": one.type,
            "context_tokens": tokens,
            "numbers_per_token_and_layer": _numbers(one, name, config),
            "bytes": one.held(config, tokens),
        }
        for name, config in one.ways.items()
        for tokens in POWERS
    ]
