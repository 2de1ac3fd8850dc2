"""The page planner: each number and chart against exact arithmetic from published sizes.

Nothing here asks the planner: DeepSeek-V3 has 61 layers that keep 512 + 64 numbers of a token, 128
heads with keys and values of 128, and 58 layers of which a token uses 8 of 256 experts;
Llama-3.1-405B has 126 layers with 8 KV heads of 128 and 128 query heads; an H200 has 143,771 MiB,
reads 4.8e12 bytes a second and makes 1979e12 FLOP/s of 8-bit numbers.
"""

import json
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from plotly.colors import hex_to_rgb
from streamlit.testing.v1 import AppTest

from mla_engine.figures.cells import relative_luminance
from mla_engine.figures.theme import TRANSPARENT
from tests.ui.screen import Chart, charts, csv, lead, plain, says, speech, statement

PAGE, GIB, CONTEXT = "pages/planner.py", 2**30, 2**15
MEMORY, BANDWIDTH, PEAK = 143_771 * 2**20, 4800 * 10**9, 1979 * 10**12
TOTAL, TABLE, ROUTED = 671_026_404_352, 129_280 * 7168, 58 * 256 * 3 * 7168 * 2048
SHARED = TOTAL - TABLE - ROUTED  # attention, dense layers, shared experts, the head
ACTIVE = SHARED + ROUTED // 32
LLAMA = 405_853_388_800
LLAMA_ACTIVE = LLAMA - 128_256 * 16_384
OVERHEAD = 2 * GIB
SEQUENCE = 61 * 576 * CONTEXT  # in FP8, on every GPU of a group
SPLIT = 126 * 2 * 128 * CONTEXT  # of Llama: one KV head of eight on each of eight GPUs
ATTENTION = 61 * 2 * 128 * (2 * 512 + 64) * (CONTEXT + 1)
WHOLE = 61 * (  # of attention: queries by a latent of 1,536, latents, rotary keys and the output
    1536 * (7168 + 128 * 192) + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
)
CHINESE = "[\u4e00-\u9fff]"
Opened = Callable[..., AppTest]


def grey(colour: str) -> float:
    """Return the lightness of a colour in print, as WCAG 2.2 compares two."""
    return relative_luminance("rgb" + str(hex_to_rgb(colour))) + 0.05


def weights(parameters: int, data: int = 1) -> Fraction:
    """Bytes of each of eight GPUs: each group keeps DeepSeek-V3's attention, which it splits."""
    attention = WHOLE if data > 1 else 0
    return Fraction(attention * data, 8) + Fraction(parameters - attention, 8)


def room(total: int = TOTAL, data: int = 1) -> Fraction:
    """Bytes of each of eight GPUs beside weights in FP8 and the overhead."""
    return MEMORY - weights(total, data) - OVERHEAD


def rate(batch: int, data: int = 1, touched: int = ACTIVE) -> float:
    """Tokens a second at most of DeepSeek-V3 on eight GPUs in so many groups."""
    each = ceil(Fraction(batch, data))
    reading = (weights(touched, data) + each * SEQUENCE) / BANDWIDTH
    group = Fraction(each * ATTENTION, 8 // data)
    computing = max(Fraction((2 * ACTIVE + ATTENTION) * batch, 8), group) / PEAK
    return float(batch / max(reading, computing))


def of_their_own(batch: int) -> int:
    """Parameters that a batch touches whose sequences share no expert."""
    return SHARED + min(ROUTED, batch * ROUTED // 32)


def ends(chart: Chart) -> dict[str, float]:
    """Return each line's last height."""
    lines = [trace for trace in chart.traces if trace["mode"] == "lines"]
    heights = {trace["name"]: chart.values(trace, "y") for trace in lines}
    return {name: float(y[np.isfinite(y)][-1]) for name, y in heights.items()}


def test_what_fits_and_how_fast_by_hand(opened: Opened, downloads: dict):
    at = opened(PAGE)
    batch = floor(room() / SEQUENCE)
    assert lead(at)[0] == f"{batch} sequences"
    assert says(
        plain(statement(at)),
        "planner.line_routed",
        context="32,768",
        gpus="8 × H200 SXM",
        model="DeepSeek-V3 / R1 (671B)",
        rate=f"{rate(batch):,.0f}",
        own=f"{rate(batch, touched=of_their_own(batch)):,.0f}",
    )
    assert says(speech(at), "planner.limit_reading")
    cache, free = batch * SEQUENCE, room() - batch * SEQUENCE
    memory = charts(at)[0]
    parts = {"overhead": OVERHEAD, "weights": weights(TOTAL), "cache": cache, "free": free}
    assert memory.names == list(parts)
    drawn = [grey(memory.trace(name)["marker"]["color"]) for name in list(parts)[:3]]
    for one, beside in pairwise(drawn):
        assert max(one, beside) > 1.4 * min(one, beside), "told apart in print"
    assert memory.trace("free")["marker"]["color"] == TRANSPARENT
    for name, amount in parts.items():
        assert_allclose(memory.values(name, "x"), [float(amount / Fraction(GIB))])
        assert "base" not in memory.trace(name)
    assert memory.layout["barmode"] == "stack"
    assert memory.layout["shapes"][0]["x0"] == pytest.approx(MEMORY / GIB)
    assert says(memory.axis("x"), "planner.axis_memory")
    said = re.findall(r"(\w+) ([\d.]+) ([GM])iB", memory.alt.partition(": ")[2])
    assert {name: float(number) * 2 ** {"G": 30, "M": 20}[unit] for name, number, unit in said} == {
        name: pytest.approx(float(amount), rel=5e-3) for name, amount in parts.items()
    }
    assert f"cache {batch} × 1.07 GiB = 60.0 GiB" in speech(at)
    assert says(speech(at), "planner.split_none", ranks="8", each="1.07 GiB")
    dealt, each = 8 * floor(room(data=8) / SEQUENCE), float(weights(TOTAL, 8) / GIB)
    assert says(
        speech(at),
        "planner.dealt_weights",
        each=f"{each:.1f} GiB",
        most=f"{dealt} sequences",
        now=batch,
    )
    table = csv(downloads["mla_plan_memory.csv"]).iloc[0]
    assert (table["largest_batch"], table["sequence_bytes"]) == (batch, SEQUENCE)
    assert_allclose(sum(table[f"{name}_bytes"] for name in ("weight", "overhead", "cache", "free")),
                    MEMORY)  # fmt: skip


def test_rates_up_to_where_memory_ends(opened: Opened, downloads: dict):
    at = opened(PAGE)
    batch = floor(room() / SEQUENCE)
    chart = charts(at)[1]
    same, own = chart.traces
    places = chart.values(same, "x")
    assert list(places) == [1, 2, 4, 8, 16, 32, batch]
    touched = [of_their_own(n) for n in places.tolist()]
    assert_allclose(chart.values(same, "y"), [rate(n) for n in places.tolist()])
    assert_allclose(
        chart.values(own, "y"),
        [rate(n, touched=some) for n, some in zip(places.tolist(), touched, strict=True)],
    )
    assert [same["name"], own["name"]] == ["all use the same experts", "each uses its own"]
    assert "tokens/s, at most" in chart.axis("y")
    table = csv(downloads["mla_plan_speed.csv"])
    assert table["curve"].tolist() == ["same_weights"] * 7 + ["own_weights"] * 7
    assert_allclose(table["tokens_per_second_at_most"], [*chart.values(same, "y"),
                    *chart.values(own, "y")])  # fmt: skip
    steps = at.table[0].value
    assert list(steps.index) == ["1", "56", "56"]
    assert steps["Tokens/s, at most"].tolist() == [
        f"{rate(n, touched=some):,.0f}"
        for n, some in ((1, ACTIVE), (56, ACTIVE), (56, of_their_own(56)))
    ]
    pairs = CONTEXT * (CONTEXT + 1) // 2
    prompt = 2 * ACTIVE * CONTEXT + 61 * 2 * 128 * (128 + 128 + 64) * pairs
    assert says(
        speech(at), "planner.first_token", seconds=f"{float(1000 * prompt / (8 * PEAK)):.0f} ms"
    )


def test_arithmetic_limits_where_each_gpu_has_sequences_of_its_own(opened: Opened):
    at = opened(PAGE, plan_tensor="1", plan_data="8")
    batch = 8 * floor(room(data=8) / SEQUENCE)
    assert lead(at)[0] == f"{batch} sequences"
    assert says(speech(at), "planner.whole", n=f"{WHOLE:,}")
    assert f"{rate(batch, 8):,.0f} tokens a second" in plain(statement(at))
    ridge = next(
        n
        for n in range(8, batch, 8)
        if (2 * ACTIVE + ATTENTION) * n / 8 / PEAK
        >= (weights(ACTIVE, 8) + n // 8 * SEQUENCE) / BANDWIDTH
    )
    assert says(speech(at), "planner.limit_computing", n=ridge)
    ring = charts(at)[1].traces[-1]
    assert (ring["x"], ring["y"]) == ([ridge], [pytest.approx(rate(ridge, 8))])
    assert ring["text"] == [f"<b>arithmetic limits from {ridge} on</b>"]
    assert not says(speech(at), "planner.split_none")


@pytest.mark.parametrize("kv", ["bf16", "mxfp4"])
def test_batches_over_the_context_for_each_way_to_share(opened: Opened, downloads: dict, kv: str):
    chart = charts(opened(PAGE, plan_kv=kv))[2]
    of_token = 61 * {"bf16": 2 * 576, "mxfp4": (512 + 64) // 2 + (512 + 64) // 32}[kv]
    contexts = [2**n for n in range(10, 21)]
    assert chart.names == ["TP8 × DP1", "TP1 × DP8"]
    for name, groups in (("TP8 × DP1", 1), ("TP1 × DP8", 8)):
        most = [groups * floor(room(data=groups) / (of_token * n)) for n in contexts]
        assert_allclose(chart.values(name, "y"), [n or np.nan for n in most])
        assert list(chart.values(name, "x")) == contexts
    assert chart.layout["shapes"][0]["x0"] == CONTEXT
    table = csv(downloads["mla_plan_contexts.csv"])
    assert set(table["curve"]) == {"tp8_dp1", "tp1_dp8"}
    first = floor(room() / (of_token * 1024))
    assert table["largest_batch"].iloc[0] == first
    assert f"{first:,}" in chart.alt


def test_expanding_crosses_absorbing(opened: Opened, downloads: dict):
    chart = charts(opened(PAGE))[3]
    queries = [2**n for n in range(13)]
    absorbed = [2 * 128 * t * (CONTEXT + t) * 2 * 512 for t in queries]
    expanded = [2 * 128 * 256 * (t * (CONTEXT + t) + CONTEXT * 512) for t in queries]
    assert_allclose(chart.values("absorbed", "y"), [n / 1e9 for n in absorbed])
    assert_allclose(chart.values("expanded", "y"), [n / 1e9 for n in expanded])
    first = next(
        t
        for t in range(1, 4096)
        if t * (CONTEXT + t) * 1024 > 256 * (t * (CONTEXT + t) + CONTEXT * 512)
    )
    assert chart.traces[-1]["text"] == [f"<b>{first}</b>"]
    table = csv(downloads["mla_plan_forms.csv"])
    assert table["flops_per_layer"].tolist() == absorbed + expanded


def test_a_second_model_beside_in_the_same_charts(opened: Opened):
    at = opened(PAGE, plan_beside="llama-3.1-405b")
    batch = floor(room(LLAMA) / SPLIT)
    memory, speed, contexts, _ = charts(at)
    assert_allclose(memory.values("cache", "x"), [56 * SEQUENCE / GIB, batch * SPLIT / GIB])
    reading = (Fraction(LLAMA_ACTIVE, 8) + batch * SPLIT) / BANDWIDTH
    flops = 2 * LLAMA_ACTIVE + 126 * 2 * 128 * 256 * (CONTEXT + 1)
    computing = Fraction(flops * batch, 8) / PEAK
    wanted = float(batch / max(reading, computing))
    assert ends(speed) == pytest.approx(
        {"DeepSeek-V3 / R1 (671B)": rate(56), "Llama-3.1-405B": wanted}
    )
    longest = floor(room(LLAMA) / (SPLIT * 32))
    assert ends(contexts)["Llama-3.1-405B"] == longest
    alone = opened(PAGE, plan_beside="deepseek-v3")
    assert charts(alone)[1].names == charts(opened(PAGE))[1].names


def test_only_a_longer_context_than_the_model_was_made_for_is_called_beyond(opened: Opened):
    llama = {"plan_model": "llama-3.1-405b"}  # published for 131,072 tokens
    assert "was made for" not in speech(opened(PAGE, plan_context="131072", **llama))
    longer = speech(opened(PAGE, plan_context="262144", **llama))
    assert "Llama-3.1-405B was made for 131,072 tokens." in longer


def test_a_model_without_latents_has_no_crossing(opened: Opened):
    at = opened(PAGE, plan_model="llama-3.1-405b")
    assert len(charts(at)) == 3
    assert says(speech(at), "planner.no_latents")
    whole, each = (f"{8 * SPLIT / GIB:.2f} GiB", f"{SPLIT / 2**20:,.0f} MiB")
    assert says(speech(at), "planner.split", ranks="8", whole=whole, each=each)


def test_the_report_is_the_engine_s(opened: Opened, downloads: dict):
    opened(PAGE)
    found = json.loads(downloads["mla_plan.json"]())
    assert found["largest_batch"] == 56
    assert found["sequence_bytes_each"] == SEQUENCE
    assert found["kv"] == "fp8"
    text = downloads["mla_plan.md"]().decode()
    assert "Largest batch: 56 sequences of 32,768 tokens." in text
