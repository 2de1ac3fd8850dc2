"""The compute page: every chart, table, file and sentence against the engine's closed forms."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import (
    PRESETS,
    DeltaConfig,
    GroupedConfig,
    IndexedConfig,
    LatentConfig,
    PooledConfig,
    PooledIndexConfig,
    RopeConfig,
    costs,
    timing,
)
from mla_engine.costs import Cost, Device
from tests.engine.samples import dense
from tests.ui.chart_checks import check_bars, check_lines
from tests.ui.controls import button, control, has_button, pressed
from tests.ui.screen import (
    Chart,
    charts,
    csv,
    lead,
    numbers,
    own,
    plain,
    prose,
    refusal,
    saying,
    says,
    speech,
    statement,
)
from ui.engine.queue import Queue
from ui.pages.compute import run
from ui.parts import measure
from ui.words.numbers import clock, count, digits, flop, giga, share, tied_size, times

PAGE = "pages/compute.py"
LINK = {
    "preset": "deepseek-v3", "d_model": "5120", "n_heads": "64", "n_kv_heads": "4", "d_head": "96",
    "d_value": "160", "d_latent_kv": "384", "d_latent_q": "1024", "d_rope": "32",
}  # fmt: skip
COMMON = {"d_model": 5120, "n_heads": 64, "d_head": 96, "d_value": 160}
LATENT = LatentConfig(**COMMON, d_latent_kv=384, d_latent_q=1024, d_rope=32, latent_norm=True)
INDEXED = IndexedConfig(**vars(LATENT), n_index_heads=32, d_index=64, index_topk=2048)
CSA = PooledConfig(
    d_model=5120, n_heads=64, d_head=384, d_latent_q=1024, d_latent_o=768, n_output_groups=8,
    window=128, d_rope=32, pooling=4, overlap=True, index_topk=512, n_index_heads=64, d_index=64,
    rope=PRESETS["deepseek-v3"].config.rope,
)  # fmt: skip
ALL_ENTRIES = {"overlap": False, "index_topk": None, "n_index_heads": None, "d_index": None}
HCA = replace(CSA, pooling=128, **ALL_ENTRIES)
KDA = DeltaConfig(**COMMON, d_decay=96, d_gate=96)
BLOCKS = PooledIndexConfig(**vars(replace(INDEXED, d_rope=0, rope=None)), pooling=4)
MHA, GQA, MQA = (GroupedConfig(**COMMON, n_kv_heads=n) for n in (64, 4, 1))
LAYERS = 61  # of DeepSeek-V3
WAYS = {  # name -> configuration, form and cache of a step; the form of a prompt
    "MHA": ("mha", MHA, None, None, None),
    "GQA, g = 4": ("gqa", GQA, None, None, None),
    "MQA": ("mqa", MQA, None, None, None),
    "MLA, absorbed": ("mla_absorbed", LATENT, "absorbed", "latent", "absorbed"),
    "MLA, expanded each step": ("mla_each", LATENT, "expanded", "latent", "expanded"),
    "MLA, full K and V": ("mla_kv", LATENT, "expanded", "kv", ""),
    "DSA, absorbed": ("dsa", INDEXED, "absorbed", "indexed", "absorbed"),
    "CSA, chosen entries": ("csa", CSA, None, None, None),
    "HCA, all entries": ("hca", HCA, None, None, None),
    "KDA, one state": ("kda", KDA, None, None, "chunked"),
    "Block DSA, absorbed": ("block_dsa", BLOCKS, "absorbed", None, "absorbed"),
}
DECODING = {
    name: partial(costs.decode, config, form=form, cache=cache)
    for name, (_, config, form, cache, _) in WAYS.items()
}
FILLING = {
    name.removesuffix(" each step"): partial(costs.prefill, config, form=form)
    for name, (_, config, *_, form) in WAYS.items()
    if form != ""
}
CODES = {name: code for name, (code, *_) in WAYS.items()} | {"MLA, expanded": "mla_each"}
DOUBLINGS = [2**n for n in range(13)]


@dataclass(frozen=True)
class Shown:
    """A state of the page, what its buttons hand out, and what the engine says of it."""

    at: AppTest
    files: dict[str, object]
    costs: dict[str, Cost]
    device: Device
    layers: int
    given: dict[str, object]  # the columns of the file that say which state it is

    @property
    def charts(self) -> list[Chart]:
        return charts(self.at)

    def file(self, name: str) -> pd.DataFrame:
        return csv(self.files[name])


def state(
    seen: Callable, link: dict[str, str], calls: dict[str, Callable], device: str, layers: int
) -> Shown:
    """The page with these sizes, and the engine's own costs of them."""
    decoding = calls is DECODING
    context, batch, queries = (int(link[f"cost_{n}"]) for n in ("context", "batch", "queries"))
    counted = {
        code: call(context, **_step(decoding, queries, batch)) for code, call in calls.items()
    }
    given = {"phase": "decode" if decoding else "prefill", "context": context, "batch": batch}
    given |= {"query_tokens": queries if decoding else context, "heads": 64, "layers": layers}
    at, files = seen(PAGE, **LINK, **link)
    return Shown(at, files, counted, costs.GPUS[device], layers, given)


def _step(decoding: bool, queries: int, batch: int) -> dict[str, int]:
    return {"batch": batch} | ({"new_tokens": queries} if decoding else {})


STEP = {"cost_gpu": "mi300x", "cost_context": "8192", "cost_queries": "4", "cost_batch": "16"}
STEP |= {"cost_ways": "all"}
FILL = {
    "cost_phase": "prefill", "cost_gpu": "l4", "cost_context": "2048", "cost_queries": "8",
    "cost_batch": "2", "cost_scope": "layer", "cost_ways": "all",
}  # fmt: skip


@pytest.fixture(scope="module")
def decoding(seen: Callable) -> Shown:
    """A decode step in all layers."""
    return state(seen, STEP, DECODING, "mi300x", LAYERS)


@pytest.fixture(scope="module")
def filling(seen: Callable) -> Shown:
    """Prefill in one layer."""
    return state(seen, FILL, FILLING, "l4", 1)


@pytest.fixture(params=["decoding", "filling"])
def shown(request: pytest.FixtureRequest) -> Shown:
    """Both states."""
    return request.getfixturevalue(request.param)


def of_page(at: AppTest, kind: str) -> list[str]:
    return [element.value for element in own(at, kind)]


def near(expected: object) -> object:
    return pytest.approx(expected, rel=1e-12)


# The roofline


@pytest.mark.parametrize(
    ("link", "marked"),
    [
        ({}, ["MHA", "GQA, g = 4", "MQA", "MLA, absorbed"]),
        ({"variant": "kda"}, ["MHA", "GQA, g = 4", "MQA", "MLA, absorbed", "KDA, one state"]),
        (FILL | {"cost_ways": "four"}, [*list(WAYS)[:4], "MLA, expanded"]),
    ],
)
def test_first_what_mla_is_compared_with_stands_under_the_roof(opened, link, marked):
    assert charts(opened(PAGE, **LINK, **link))[0].names[1:] == marked


def test_every_way_stands_under_the_roof_at_its_own_numbers(shown):
    roof = shown.charts[0]
    assert roof.names == ["", *shown.costs]
    assert (roof.axis("x"), roof.axis("y")) == ("FLOP per byte", "TFLOP/s")
    device = shown.device
    for name, cost in shown.costs.items():
        intensity = cost.total_flops / cost.total_bytes
        reached = min(device.flops_per_second, intensity * device.bytes_per_second)
        assert roof.values(name, "x") == near([intensity])
        assert roof.values(name, "y") == near([reached / 1e12])
        assert roof.trace(name)["hovertemplate"] == (
            f"{name}<br>FLOP per byte %{{x:,.4g}}<br>TFLOP/s %{{y:,.4g}}<extra></extra>"
        )
    ridge = device.flops_per_second / device.bytes_per_second
    peak = device.flops_per_second / 1e12
    assert roof.values(0, "x") == near([0.1, ridge, 1e4])
    assert roof.values(0, "y") == near([0.1 * device.bytes_per_second / 1e12, peak, peak])
    assert roof.layout["annotations"][0]["x"] == near(math.log10(ridge))
    assert roof.words == [f"ridge {digits(ridge)}"]
    at = "; ".join(f"{name}: {digits(cost.flops_per_byte)}" for name, cost in shown.costs.items())
    assert says(roof.alt, "compute.alt_roof", gpu=device.name, ridge=digits(ridge), at=at)


def test_bars_part_the_bytes_of_each_way(shown):
    bars, every = shown.charts[1], shown.costs.values()
    parts = {
        "weights": [c.weight_bytes for c in every],
        "cache": [c.cache_read_bytes + c.cache_written_bytes for c in every],
        "keys and values made for the step": [c.up_projected_bytes for c in every],
        "hidden states": [c.activation_bytes for c in every],
    }
    totals = [shown.layers * cost.total_bytes for cost in every]
    ends = [tied_size(n) for n in totals]
    unit = max(zip(totals, ends, strict=True))[1].split("\xa0")[1]
    unit_bytes, axis = {"MiB": 2**20, "GiB": 2**30}[unit], f"{unit} that have to move"
    made = {part: [shown.layers * n / unit_bytes for n in of] for part, of in parts.items()}
    check_bars(bars, made, list(shown.costs), axis, ends)
    held = "; ".join(f"{name}: {end}" for name, end in zip(shown.costs, ends, strict=True))
    assert says(bars.alt, "compute.alt_bytes", held=held)


# The crossings


def ring(chart: Chart) -> tuple[float, float, str]:
    mark = chart.traces[2]
    return mark["x"][0], mark["y"][0], mark["text"][0]


def test_flop_of_both_forms_cross_where_the_engine_says(shown):
    chart, context = shown.charts[2], shown.given["context"]
    forms = {"MLA, absorbed": "absorbed", "MLA, expanded each step": "expanded"}
    flops = {
        name: [costs.decode(LATENT, context, form, new_tokens=n).total_flops for n in DOUBLINGS]
        for name, form in forms.items()
    }
    check_lines(chart, DOUBLINGS, flops, ("query tokens per step", "FLOP per layer"))
    wins = costs.expanding_wins(LATENT, context)
    height = costs.decode(LATENT, context, "expanded", new_tokens=wins).total_flops
    assert ring(chart) == (wins, height, f"<b>{wins}</b>")
    assert [line["x0"] for line in chart.layout["shapes"]] == [4 if shown.layers > 1 else 8]
    clocked = costs.expanding_wins(LATENT, context, shown.device, batch=shown.given["batch"])
    limit = digits(costs.crossover_queries(LATENT))
    said = saying(shown.at, f"Below **{wins}** query tokens")
    assert says(said, "compute.expand", tokens=count(context))
    assert says(said, "compute.expand", limit=limit, gpu=shown.device.name, clocked=clocked)
    assert chart.alt == said.replace("*", "")


def test_the_intensity_of_absorbed_attention_meets_the_ridge(shown):
    chart, context, device = shown.charts[3], shown.given["context"], shown.device
    against = f"ridge of {device.name}"
    alone = [costs.attention_intensity(LATENT, context, n, device) for n in DOUBLINGS]
    lines = {"absorbed attention alone": alone, against: [device.ridge] * len(DOUBLINGS)}
    check_lines(chart, DOUBLINGS, lines, ("heads × query tokens", "FLOP per byte"))
    rows = costs.attention_turns(LATENT, context, device)
    assert ring(chart) == (rows, near(device.ridge), f"<b>{rows}</b>")
    queries = 4 if shown.layers > 1 else 8
    assert [line["x0"] for line in chart.layout["shapes"]] == [64 * queries]
    bound = "compute-bound" if 64 * queries >= rows else "memory-bound"
    said = saying(shown.at, f"On {device.name} (ridge {digits(device.ridge)})")
    assert f"**{rows}**; now this is 64 × {queries} = {64 * queries}: {bound}." in said
    assert chart.alt == said.replace("*", "")


# Tables and sentences


def test_the_table_holds_flop_bytes_intensity_and_the_least_time(shown):
    table, n, device = shown.at.main.table[0].value, shown.layers, shown.device
    assert list(table.columns) == ["FLOP", "Bytes", "FLOP per byte", "At least"]
    assert list(table.index) == list(shown.costs)
    for name, cost in shown.costs.items():
        seconds = cost.total_flops / device.flops_per_second
        memory = cost.total_bytes / device.bytes_per_second
        bound = "compute-bound" if seconds >= memory else "memory-bound"
        assert list(table.loc[name]) == [
            flop(n * cost.total_flops),
            tied_size(n * cost.total_bytes),
            digits(cost.total_flops / cost.total_bytes),
            f"{clock(n * max(seconds, memory))}, {bound}",
        ]


def test_every_device_stands_in_the_table_with_its_rates_and_source(decoding):
    table = decoding.at.main.table[1].value
    assert list(table.columns) == [
        "TFLOP/s, 16 bit dense", "GB/s", "Ridge, FLOP per byte", "Source",
    ]  # fmt: skip
    assert list(table.index) == [gpu.name for gpu in costs.GPUS.values()]
    for gpu in costs.GPUS.values():
        peak, speed = gpu.flops_per_second, gpu.bytes_per_second
        assert list(table.loc[gpu.name]) == [
            digits(peak / 1e12), digits(speed / 1e9), digits(peak / speed), gpu.source,
        ]  # fmt: skip


def test_the_title_of_decoding_sets_intensities_against_the_ridge(decoding):
    absorbed, mha = (digits(decoding.costs[n].flops_per_byte) for n in ("MLA, absorbed", "MHA"))
    assert says(
        statement(decoding.at),
        "compute.line_decode",
        ridge=digits(decoding.device.ridge),
        gpu="MI300X",
        model="DeepSeek-V3 / R1 (671B), sizes changed",
        mla_absorbed=absorbed,
        mha=mha,
    )
    source, counted = of_page(decoding.at, "caption")
    assert source.startswith("MI300X: 1,307 TFLOP/s, 5,300 GB/s. Source: AMD Instinct MI300X")
    assert says(
        counted,
        "compute.counted_decode",
        layers="61",
        batch="16",
        tokens="8,192",
        queries="4",
        width="2",
    )
    assert any("Absorbed MLA reads" in look for look in prose(decoding.at))


def test_the_title_of_prefill_has_the_least_times_of_both_forms(filling):
    expanded, absorbed = (
        clock(filling.device.seconds(filling.costs[name]))
        for name in ("MLA, expanded", "MLA, absorbed")
    )
    least = {"mla_each": expanded, "mla_absorbed": absorbed}
    assert says(statement(filling.at), "compute.line_prefill", tokens="2,048", gpu="L4", **least)
    counted = of_page(filling.at, "caption")[1]
    assert says(
        counted, "compute.counted_prefill", layers="1", batch="2", tokens="2,048", width="2"
    )
    assert control(filling.at, "cost_queries").disabled
    assert not any("batch sizes" in text for text in prose(filling.at))


def test_the_batches_where_a_whole_step_turns_compute_bound(decoding):
    found = []
    for name, call in DECODING.items():
        step = partial(call, 8192, new_tokens=4)
        turns = costs.step_turns(lambda n, step=step: step(batch=n), decoding.device)
        found.append(f"{name}: {'never' if turns is None else count(turns)}")
    assert says(
        saying(decoding.at, "batch sizes"), "compute.batches", gpu="MI300X", said="; ".join(found)
    )
    assert any("never" in one for one in found)
    assert not all("never" in one for one in found)


# Files


def test_files_hold_the_costs_as_numbers(shown):
    table = shown.file("compute_costs.csv")
    pd.testing.assert_frame_equal(shown.file("compute_bytes.csv"), table)
    assert list(table["way"]) == [CODES[name] for name in shown.costs]
    every, n, device = list(shown.costs.values()), shown.layers, shown.device
    for column, value in shown.given.items():
        assert set(table[column]) == {value}
    assert set(table["device"]) == {device.name}
    expected = {
        "flop": [n * c.total_flops for c in every],
        "attention_flop": [n * c.attention_flops for c in every],
        "weights_bytes": [n * c.weight_bytes for c in every],
        "cache_bytes": [n * (c.cache_read_bytes + c.cache_written_bytes) for c in every],
        "up_projected_bytes": [n * c.up_projected_bytes for c in every],
        "hidden_bytes": [n * c.activation_bytes for c in every],
        "flop_per_byte": [c.total_flops / c.total_bytes for c in every],
        "ridge_flop_per_byte": [device.flops_per_second / device.bytes_per_second] * len(every),
        "least_seconds": [n * device.seconds(c) for c in every],
    }
    for column, values in expected.items():
        assert list(table[column]) == near(values), column
    assert set(table.columns) == {*expected, *shown.given, "way", "device"}


CROSSINGS = {  # place of the chart, file -> its columns
    (2, "expansion"): ["query_tokens", "absorbed_flop", "expanded_flop"],
    (3, "intensity"): ["heads_x_query_tokens", "flop_per_byte", "ridge_flop_per_byte"],
    (4, "choosing"): ["tokens", "all_keys_flop", "chosen_keys_flop"],
}


def test_files_of_the_crossings_hold_their_lines(shown):
    for (place, name), columns in CROSSINGS.items():
        chart, table = shown.charts[place], shown.file(f"compute_{name}.csv")
        assert list(table.columns) == columns
        x, *lines = (list(table[column]) for column in columns)
        assert x == list(chart.values(0, "x"))
        for line, heights in enumerate(lines):
            assert heights == near(list(chart.values(line, "y")))
    assert list(shown.file("compute_choosing.csv")["tokens"]) == [2**n for n in range(8, 18)]


# Other models


def test_a_latent_as_wide_as_keys_and_values_is_never_expanded(opened):
    at = opened(PAGE, preset="small", d_model="64", n_heads="2", n_kv_heads="1", d_head="8",
                d_value="8", d_latent_kv="8", d_latent_q="0", d_rope="4", cost_context="256",
                cost_gpu="a10g")  # fmt: skip
    config = LatentConfig(d_model=64, n_heads=2, d_head=8, d_latent_kv=8, d_rope=4)
    assert costs.expanding_wins(config, 256) is None
    said, chart = saying(at, "absorbing takes fewer FLOP"), charts(at)[2]
    assert said.startswith("Over 256 cached tokens")
    assert says(said, "compute.never_expand", gpu="A10G")
    assert chart.alt == said
    assert chart.names == ["MLA, absorbed", "MLA, expanded each step"], "no ring"


@pytest.mark.parametrize(
    ("preset", "layers"),
    [
        ("llama-3-8b", 32),
        ("kimi-k3", PRESETS["kimi-k3"].n_caches),
        ("small", 1),
        ("gemma-3-27b", 10),
    ],
)
def test_all_layers_are_those_that_have_a_cache(opened, preset, layers):
    at = opened(PAGE, preset=preset)
    assert PRESETS["kimi-k3"].n_caches < PRESETS["kimi-k3"].n_layers
    said = of_page(at, "caption")[1]
    assert f"layers {layers}, batch" in said
    others = sum(n for _, n in PRESETS[preset].beside) if preset in PRESETS else 0
    assert (says(said, "compute.counted_others", layers=others)) == bool(others)
    assumed = says([m.value for m in at.markdown], "ways.assumed", latent=512, rope=64)
    assert assumed == (layers in (32, 10))


def test_a_sparse_model_has_a_latent_of_its_own(opened):
    link = {"preset": "deepseek-v3.2-exp", "cost_context": "32768", "cost_batch": "8"}
    at = opened(PAGE, **link)
    assert not [m.value for m in at.markdown if "no MLA" in m.value]
    configs = (PRESETS[key].config for key in ("deepseek-v3.2-exp", "deepseek-v3"))
    sparse, dense = (costs.decode(config, 32_768, batch=8) for config in configs)
    assert sparse.total_flops < dense.total_flops
    table = at.main.table[0].value
    assert table.loc["DSA, absorbed"].iloc[2] == digits(sparse.flops_per_byte)
    assert table.loc["MLA, absorbed"].iloc[2] == digits(dense.flops_per_byte)


def by_hand(c: IndexedConfig, queries: int, tokens: int, *, indexer: bool) -> int:
    """FLOP of absorbed MLA over what a query attends to, with an indexer or without."""
    held, h, x, r, d = tokens + queries, c.n_heads, c.d_latent_kv, c.d_rope, c.d_model
    over = min(held, c.index_topk) if indexer else held
    into = d * (x + r) + d * c.d_latent_q + c.d_latent_q * h * (c.d_head + r) + c.d_head * h * x
    out = h * x * c.d_value + h * c.d_value * d
    index = c.n_index_heads * (c.d_latent_q * c.d_index + d + held * (c.d_index + 1))
    index += d * c.d_index
    each = into + out + h * over * (2 * x + r) + (index if indexer else 0)
    return 2 * queries * each


@pytest.mark.parametrize("queries", [1, 4])
def test_the_indexer_pays_from_where_it_saves_more_than_it_costs(opened, queries):
    link = {"preset": "deepseek-v3.2-exp", "cost_scope": "layer", "cost_batch": "1"}
    at = opened(PAGE, **link, cost_queries=str(queries), cost_context="65536")
    chosen, every = (
        partial(by_hand, PRESETS["deepseek-v3.2-exp"].config, queries, indexer=which)
        for which in (True, False)
    )
    wins = next(n for n in range(1, 10_000) if chosen(n) < every(n))
    index = 2 * queries * (64 * (1536 * 128 + 7168 + (65_536 + queries) * 129) + 7168 * 128)
    assert says(at.title[0].value, "compute.title_indexed")
    number, line = lead(at)
    assert number == f"{wins:,} tokens"
    assert says(
        line,
        "compute.line_indexed_decode",
        model="DeepSeek-V3.2-Exp",
        turn=f"{wins:,}",
        tokens="65,536",
        chosen=flop(chosen(65536)),
        every=flop(every(65536)),
    )
    sentence = saying(at, "An indexer scores every key")
    assert f"Below **{wins:,}** tokens" in sentence
    assert says(sentence, "compute.choosing", topk="2,048")
    assert plain(f"{flop(chosen(65_536))}, of which the indexer {flop(index)}") in sentence
    assert "assumed" not in sentence
    chart = charts(at)[4]
    contexts = [2**n for n in range(8, 18)]
    assert chart.names[:2] == ["MLA, absorbed", "DSA, absorbed"]
    assert list(chart.values(0, "y")) == near([every(n) for n in contexts])
    assert list(chart.values(1, "y")) == near([chosen(n) for n in contexts])
    assert ring(chart) == (wins, chosen(wins), f"<b>{wins:,}</b>")


def later_by_hand(code: str, tokens: int) -> int:
    """FLOP of a step of one query after `tokens` others: projections, then what is attended to."""
    d, h, held = 5120, 64, tokens + 1
    if code == "kda":
        k, v, conv, low = 96, 160, 4, 96
        into = h * (2 * k + v) * (d + conv) + low * d + h * k * low + h * d + low * d + h * v * low
        return 2 * (into + 3 * h * k * v + d * h * v)  # the state is read, erased and written
    if code == "block_dsa":
        c, low, j, x = 384, 1024, 32, 64
        into = c * d + low * d + h * 96 * low + h * 96 * c  # no part of it is rotated
        index = j * x * low + j * d + 2 * x * d + held // 4 * j * (x + 1)
        over = held if held < 2048 + 4 else 2048 + held % 4
        return 2 * (into + index + h * over * 2 * c + h * c * 160 + d * h * 160)
    c, block = (CSA, 4) if code == "csa" else (HCA, 128)
    k, latent, series = 384, 1024, 2 if code == "csa" else 1
    work = latent * d + h * k * latent + k * d + 2 * series * k * d
    entries = held // block
    if code == "csa":
        work += 64 * 64 * latent + 64 * d + 2 * 2 * 64 * d + entries * 64 * (64 + 1)
        entries = min(entries, 512)
    work += 2 * h * k * (min(held, 128) + entries)
    return 2 * (work + h * k * c.d_latent_o + d * 8 * c.d_latent_o)


NAMES = {
    "csa": "CSA, chosen entries", "hca": "HCA, all entries", "kda": "KDA, one state",
    "block_dsa": "Block DSA, absorbed",
}  # fmt: skip


@pytest.mark.parametrize("code", NAMES)
def test_what_came_after_mla_is_set_against_it_over_the_context(opened, code):
    link = {"cost_scope": "layer", "cost_batch": "1", "cost_context": "8192", "variant": code}
    at = opened(PAGE, **LINK, **link)
    name, called = NAMES[code], {"block_dsa": "Block DSA"}.get(code, code.upper())
    mla, its = partial(by_hand, INDEXED, 1, indexer=False), partial(later_by_hand, code)
    wins = 1 + next(n for n in range(2**16, 0, -1) if its(n) >= mla(n))
    number, line = lead(at)
    assert number == flop(its(8192))
    held = {
        "csa": 128 * 384 + 2048 * 64 + 512 * 384, "hca": 128 * 384 + 64 * 384,
        "kda": 64 * (2 * 96 * 160 + 3 * 352), "block_dsa": 2048 * 384 + 2048 * 64,
    }[code]  # fmt: skip
    dense_read = tied_size(2 * 8192 * (384 + 32))
    own = {"name": called, "chosen": flop(its(8192)), "read": tied_size(2 * held)}
    dense = {"every": flop(mla(8192)), "read_all": dense_read}
    assert says(line, "compute.line_after_decode", tokens="8,192", **own, **dense)
    assert f"{wins:,}" in line
    assert says(prose(at)[0], "compute.look_later", name=called)
    *_, products, over, cache = charts(at)
    assert over.names[:6] == ["MLA, absorbed", *list(WAYS)[-5:]]
    contexts = [2**n for n in range(8, 18)]
    assert list(over.values("MLA, absorbed", "y")) == near([mla(n) for n in contexts])
    assert list(over.values(name, "y")) == near([its(n) for n in contexts])
    ringed = over.traces[6]
    assert (ringed["x"][0], ringed["y"][0]) == (wins, its(wins))
    assert ringed["text"][0] == f"<b>{wins:,}</b>"
    assert [line["x0"] for line in over.layout["shapes"]] == [8192]
    state = 2 * 2 * 64 * (2 * 96 * 160 + 3 * 352)  # read and written, its numbers of four bytes
    assert list(cache.values("KDA, one state", "y")) == near([state] * 10)
    assert sum(products.values("FLOP", "x")) == its(8192)
    assert f"{name}: from {wins:,} tokens on" in saying(at, "From how many tokens on each")


def test_a_prompt_is_set_against_expanding_all_keys(opened):
    link = {"preset": "glm-5", "cost_phase": "prefill", "cost_context": "4096"}
    at = opened(PAGE, **link)
    configs = PRESETS["glm-5"].config, dense(PRESETS["glm-5"].config)

    def flops(tokens: int) -> list[int]:
        forms = zip(configs, ("absorbed", "expanded"), strict=True)
        return [costs.prefill(c, tokens, form).total_flops for c, form in forms]

    wins = int(lead(at)[0].removesuffix(" tokens").replace(",", ""))
    (few, every), (fewer, more) = flops(wins), flops(wins - 1)
    assert few < every
    assert fewer >= more
    assert says(saying(at, f"Below **{wins:,}** tokens"), "compute.choosing")
    assert "“MLA, expanded”" in saying(at, "An indexer scores every key")


def test_a_model_without_an_indexer_has_an_assumed_one(opened):
    sentence = saying(opened(PAGE, preset="deepseek-v3"), "An indexer scores every key")
    assert says(sentence, "compute.choosing_assumed")


# This machine

PEAK, SPEED = 3e11, 2e10
# seconds of each way, in the order of the table
TAKEN = [0.5, 0.25, 0.125, 4.0, 2.0, 1.0, 0.03, 0.75, 3.0, 0.0625, 0.375]


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """A machine of known rates."""
    taken = measure.rate, run.seconds, run.kernel_seconds
    for kept in taken:
        kept.clear()
    monkeypatch.setattr(timing, "product_rate", lambda *_: PEAK)
    monkeypatch.setattr(timing, "copy_rate", lambda *_: SPEED)
    yield Device(name="", flops_per_second=PEAK, bytes_per_second=SPEED, source="", dtype_bytes=4)
    for kept in taken:
        kept.clear()


def test_this_machine_has_a_roof_of_its_own(opened, rates):
    at = opened(PAGE, **LINK, cost_gpu="this", cost_context="4096", cost_batch="4")
    cost = costs.decode(LATENT, 4096, batch=4, dtype_bytes=4)
    title, (source, counted) = statement(at), of_page(at, "caption")
    assert says(title, "compute.line_decode", ridge="15.0", gpu="this machine's CPU")
    assert says(title, "compute.line_decode", mla_absorbed=digits(cost.flops_per_byte))
    assert numbers(source) == {"0.300": 1, "20.0": 1}
    assert says(source, "compute.source_this")
    assert "4 bytes a number" in counted
    roof, _, _, turning = charts(at)[:4]
    assert roof.values("MLA, absorbed", "x") == near([cost.flops_per_byte])
    assert turning.names[1] == "ridge of this machine's CPU"
    row = at.main.table[0].value.loc["MLA, absorbed"]
    assert cost.flops_per_byte < rates.ridge
    assert row.iloc[3] == f"{clock(LAYERS * rates.seconds(cost))}, memory-bound"


SMALL = {
    "preset": "small", "d_model": "48", "n_heads": "6", "n_kv_heads": "3", "d_head": "8",
    "d_value": "10", "d_latent_kv": "20", "d_latent_q": "24", "d_rope": "4",
}  # fmt: skip
TINY = {"d_model": 48, "n_heads": 6, "d_head": 8, "d_value": 10, "rope": RopeConfig()}
TINY_LATENT = LatentConfig(**TINY, d_latent_kv=20, d_latent_q=24, d_rope=4, latent_norm=True)
TINY_INDEXED = IndexedConfig(**vars(TINY_LATENT), n_index_heads=3, d_index=8, index_topk=4)
HELD = {"kv": "KVCache", "latent": "LatentCache", "indexed": "IndexedCache"}
HELD |= {"pooled": "PooledCache", "delta": "DeltaCache", "pooled_index": "PooledIndexCache"}
TINY_BLOCKS = PooledIndexConfig(**vars(replace(TINY_INDEXED, d_rope=0, rope=None)), pooling=2)
TINY_CSA = PooledConfig(
    d_model=48, n_heads=6, d_head=20, d_latent_q=24, d_latent_o=40, n_output_groups=3, window=3,
    d_rope=4, pooling=2, overlap=True, index_topk=2, n_index_heads=6, d_index=8,
)  # fmt: skip
TINY_HCA = replace(TINY_CSA, pooling=4, **ALL_ENTRIES)
TINY_KDA = DeltaConfig(d_model=48, n_heads=6, d_head=8, d_value=10, d_decay=8, d_gate=8)
TIMED = {  # code: layer, form, kind of cache
    "mha": (GroupedConfig(**TINY, n_kv_heads=6), "expanded", "kv"),
    "gqa": (GroupedConfig(**TINY, n_kv_heads=3), "expanded", "kv"),
    "mqa": (GroupedConfig(**TINY, n_kv_heads=1), "expanded", "kv"),
    "mla_absorbed": (TINY_LATENT, "absorbed", "latent"),
    "mla_each": (TINY_LATENT, "expanded", "latent"),
    "mla_kv": (TINY_LATENT, "expanded", "kv"),
    "dsa": (TINY_INDEXED, "absorbed", "indexed"),
    "csa": (TINY_CSA, "pooled", "pooled"),
    "hca": (TINY_HCA, "pooled", "pooled"),
    "kda": (TINY_KDA, "recurrent", "delta"),
    "block_dsa": (TINY_BLOCKS, "absorbed", "pooled_index"),
}


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch, rates: Device) -> list[tuple]:
    """Times taken from TAKEN; the list tells what was really handed in to be timed."""
    handed = []

    def noting(call: Callable) -> Callable:
        return lambda *args: handed.append(args) or call(*args)

    def seconds(call: Callable, _device: object) -> float:
        call()
        return TAKEN[len(handed) - 1]

    monkeypatch.setattr(timing, "step", noting(timing.step))
    monkeypatch.setattr(timing, "prefill", noting(timing.prefill))
    monkeypatch.setattr(timing, "seconds", seconds)
    return handed


def test_measuring_is_on_request_and_stands_beside_the_model(opened, timed, rates, downloads):
    link = {"cost_context": "128", "cost_queries": "2", "cost_batch": "8"}
    at = opened(PAGE, **SMALL, **link)
    assert not has_button(at, "cost_again")
    assert not timed
    assert says(button(at, "cost_measure").label, "compute.measure")
    pressed(at, "cost_measure")
    assert button(at, "cost_again").label == "Measure again"
    assert not has_button(at, "cost_measure")
    assert not has_button(at, "cost_stop")
    for (layer, h, cache, form), (config, its_form, kind) in zip(
        timed, TIMED.values(), strict=True
    ):
        assert layer.config == config
        assert (form, cache.length, tuple(h.shape)) == (its_form, 128, (1, 2, 48))
        assert type(cache).__name__ == HELD[kind]
        assert len(layer.heads) == run.MOST_HEADS

    heads = range(4)
    every = {
        code: costs.decode(config, 128, form, cache=kind, new_tokens=2, dtype_bytes=4, heads=heads)
        for code, (config, form, kind) in TIMED.items()
    }
    names = list(at.main.table[0].value.index)
    table = at.main.table[1].value
    assert list(table.columns) == ["At least, by the model", "Measured", "Measured / least"]
    assert list(table.index) == names
    chart = charts(at)[8]
    assert chart.names == ["", *(n for name in names for n in (name, f"{name}, measured"))]
    rows = csv(downloads["compute_measured.csv"])
    assert list(rows["way"]) == list(every)
    for name, (code, cost), taken in zip(names, every.items(), TAKEN, strict=True):
        least = rates.seconds(cost)
        assert list(table.loc[name]) == [clock(least), clock(taken), times(taken / least)]
        intensity = cost.total_flops / cost.total_bytes
        for mark, rate in (
            (name, min(PEAK, SPEED * intensity)),
            (f"{name}, measured", cost.total_flops / taken),
        ):
            assert chart.values(mark, "x") == near([intensity])
            assert chart.values(mark, "y") == near([rate / 1e12])
        row = rows.set_index("way").loc[code]
        assert (row["flop"], row["bytes"]) == (cost.total_flops, cost.total_bytes)
        assert (row["modelled_seconds"], row["measured_seconds"]) == near((least, taken))
    for column, value in {"phase": "decode", "heads": 4, "context": 128, "query_tokens": 2}.items():
        assert set(rows[column]) == {value}
    assert chart.words == ["ridge 15.0"]
    assert (chart.axis("x"), chart.axis("y")) == ("FLOP per byte", "TFLOP/s")
    assert says(chart.alt, "compute.alt_measured", gpu="this machine's CPU")
    first = rates.seconds(every["mha"])
    assert f": MHA: {clock(first)} / {clock(0.5)}; GQA, g = 3: " in chart.alt
    reached = {"rate": giga(PEAK, "FLOP/s"), "speed": giga(SPEED, "B/s")}
    tried = {"heads": 4, "tokens": 128, "queries": 2}
    assert says(speech(at), "compute.tried_decode", **reached, **tried)
    assert any(says(c, "compute.measured_note") for c in of_page(at, "caption"))

    control(at, "cost_context").set_value(256).run()
    assert has_button(at, "cost_measure"), "other sizes are measured on request again"


def test_measuring_prefill_times_both_forms_of_mla(opened, timed, rates, downloads):
    at = opened(PAGE, **SMALL, cost_phase="prefill", cost_context="256")
    pressed(at, "cost_measure")
    forms = [(form, tuple(h.shape)) for _, h, form in timed]
    of_mla, later = (
        ["absorbed", "expanded"],
        ["absorbed", "pooled", "pooled", "chunked", "absorbed"],
    )
    assert forms == [(form, (1, 256, 48)) for form in (*["expanded"] * 3, *of_mla, *later)]
    assert says(saying(at, "Taken on"), "compute.tried_prefill", heads="4", tokens="256")
    rows = csv(downloads["compute_measured.csv"])
    cost = costs.prefill(TINY_LATENT, 256, "absorbed", heads=range(4), dtype_bytes=4)
    assert rows.iloc[3][["way", "phase"]].tolist() == ["mla_absorbed", "prefill"]
    assert rows["bytes"].iloc[3] == cost.total_bytes
    assert rows["flop"].iloc[3] == cost.total_flops
    assert set(rows["query_tokens"]) == {256}


def test_measuring_again_takes_new_times(opened, timed):
    at = opened(PAGE, **SMALL, cost_context="128")
    pressed(at, "cost_measure")
    at.run()
    assert len(timed) == 11, "what was measured is kept"
    TAKEN.extend(TAKEN)
    pressed(at, "cost_again")
    assert len(timed) == 22
    del TAKEN[11:]


def test_the_kernel_is_measured_alone_where_there_is_a_gpu(opened, timed, rates, monkeypatch):
    asked = []

    def kernel_step(config, heads, context, queries, *_):
        asked.append((config, heads, context, queries))
        return lambda: None

    monkeypatch.setattr(timing, "kernel_step", kernel_step)
    at = opened(PAGE, **SMALL, cost_context="128", cost_queries="2")
    pressed(at, "cost_measure")
    assert not asked, "no kernel on a CPU"
    monkeypatch.setattr(run, "DEVICE", "meta")  # any that is not the CPU
    monkeypatch.setattr(timing, "seconds", lambda *_: 1e-6)
    run.kernel_seconds.clear()
    at.run()
    assert not at.exception
    assert asked == [(TINY_LATENT, 4, 130, 2)]
    cost = costs.decode(TINY_LATENT, 128, heads=range(4), new_tokens=2, dtype_bytes=4)
    rate, speed = cost.attention_flops / 1e-6, cost.cache_read_bytes / 1e-6
    found = f"{clock(1e-6)}, {giga(rate, 'FLOP/s')} and {giga(speed, 'B/s')}"
    told = f": {found}, {share(speed / SPEED)} of what a copy moves here."
    assert saying(at, "The kernel alone").endswith(plain(told))


def test_a_full_line_is_said_where_the_times_would_be(opened, rates, monkeypatch):
    monkeypatch.setattr("ui.engine.queue._queue", lambda: Queue(-1, 1))
    at = opened(PAGE, **SMALL, cost_context="128")
    assert not at.error
    pressed(at, "cost_measure")
    assert says(refusal(at), "refused.waiting")
    assert len(at.main.table) == 2, "costs and devices stay"


def test_timed_sizes_are_halved_until_the_machine_can_run_them(rates):
    def handed(context: int, queries: int, config: LatentConfig = LATENT) -> run.Trial:
        ways = {"mla_absorbed": run.Way(config, "absorbed", "latent")}
        return run.trials(ways, True, context, queries)["mla_absorbed"]

    large = handed(2**20, 1024)
    assert large.heads <= run.MOST_HEADS
    cost = costs.decode(
        LATENT, large.context, "absorbed", new_tokens=large.queries, heads=range(large.heads),
        dtype_bytes=4,
    )  # fmt: skip
    assert large.cost() == cost
    assert cost.weight_bytes <= run.MOST_BYTES
    assert cost.total_bytes - cost.weight_bytes <= run.MOST_BYTES
    assert large.queries <= large.context < 2**20
    assert (large.context & (large.context - 1), rates.seconds(cost) < 1) == (0, True)
    small = handed(128, 8, TINY_LATENT)
    assert (small.context, small.queries, small.heads) == (128, 8, run.MOST_HEADS)
    assert np.isclose(handed(1, 8).queries, 1), "no more queries than tokens"
