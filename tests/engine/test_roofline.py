"""Rooflines by hand: rates, ridges, least times, and crossings against their own formulas."""

import math
from dataclasses import replace
from functools import partial
from operator import attrgetter

import pytest

from mla_engine import PRESETS, LatentConfig, costs, mechanisms
from mla_engine.costs import GPUS, Device
from mla_engine.costs.roofline import always_from
from tests.engine.samples import dense
from tests.refusals import refusing

V3 = PRESETS["deepseek-v3"].config
H200 = GPUS["h200"]
# dense 16-bit TFLOP/s and GB/s as the makers print them, those of H800 and H20 as others do
PRINTED = {
    "t4": (65, 320), "l4": (121, 300), "a10g": (70, 600), "a100-40": (312, 1555),
    "a100-80": (312, 2039), "h100": (989.5, 3350), "h200": (989.5, 4800), "h800": (989.5, 3350),
    "h20": (148, 4000), "b200": (2250, 8000),
    "mi300x": (1307.4, 5300), "rtx-4090": (165.2, 1008),
    "l40s": (362, 864), "gh200": (989.5, 4000), "b300": (2250, 8000), "rtx-3090": (71, 936),
    "rtx-5090": (209.6, 1792),
}  # fmt: skip


def test_every_device_has_printed_rates_and_a_source():
    assert set(GPUS) == set(PRINTED)
    for key, gpu in GPUS.items():
        rates = (gpu.flops_per_second / 1e12, gpu.bytes_per_second / 1e9)
        assert rates == pytest.approx(PRINTED[key])
    assert all(gpu.source and gpu.dtype_bytes == 2 for gpu in GPUS.values())
    assert H200.ridge == pytest.approx(989.5e12 / 4.8e12)


def test_the_roof_is_the_lower_of_two_limits_and_meets_at_the_ridge():
    assert H200.attainable(1) == 4.8e12
    assert H200.attainable(10_000) == 989.5e12
    assert H200.attainable(H200.ridge) == pytest.approx(989.5e12)


@pytest.mark.parametrize("batch", [1, 512])
def test_the_least_time_is_the_longer_of_two(batch):
    cost = costs.decode(V3, 32_768, batch=batch)
    times = cost.total_flops / 989.5e12, cost.total_bytes / 4.8e12
    assert H200.seconds(cost) == max(times)
    assert H200.compute_bound(cost) == (times[0] >= times[1]) == (batch == 512)


@pytest.mark.parametrize("least", [1, 2, 7, 64, 65, 1000])
def test_the_first_whole_number_that_holds(least):
    assert costs.first_whole(lambda n: n >= least, 1000) == least
    assert costs.first_whole(lambda n: n >= least, least - 1 or 1) == (1 if least == 1 else None)


@pytest.mark.parametrize("step", [1, 4, 128])
@pytest.mark.parametrize("fixed", [-700, 0, 3, 250, 5000])
def test_work_in_steps_is_less_for_good_from_where_a_scan_says(step, fixed):
    """A line against a staircase that is steep up to 300: it may win, lose and win again."""

    def holds(n: int) -> bool:
        return fixed + 4 * min(n, 300) + 2 * step * (n // step) < 3 * n

    lost = [n for n in range(1, 20_000) if not holds(n)]
    assert always_from(holds, 20_000, (300, step)) == (lost[-1] + 1 if lost else 1)
    assert always_from(lambda n: False, 20_000, (300, step)) is None


@pytest.mark.parametrize("phase", [costs.decode, costs.prefill])
@pytest.mark.parametrize("code", ["dsa", "csa", "hca", "kda"])
def test_what_came_after_mla_is_lighter_from_where_a_scan_of_all_lengths_says(code, phase):
    base = LatentConfig(d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_rope=8)
    config = mechanisms.variants()[code].config(mechanisms.sizes_of(base), base)
    calls = partial(phase, config), partial(phase, base, form="absorbed")
    work = attrgetter("total_flops")
    lost = [n for n in range(1, 1000) if work(calls[0](n)) >= work(calls[1](n))]
    assert lost[-1] < 900, "it is settled within what is scanned"
    assert costs.lighter_from(*calls, (config, base), work, 2**20) == lost[-1] + 1


def by_formula(config, context: int) -> int:
    """The root of context c (k + v) = t (context + t) (2 c - k - v), rounded up."""
    widths = config.d_head + config.d_value
    ratio = config.d_latent_kv * widths / (2 * config.d_latent_kv - widths)
    root = (-context + math.sqrt(context**2 + 4 * context * ratio)) / 2
    return math.floor(root) + 1


@pytest.mark.parametrize("context", [128, 1000, 32_768, 2**19])
@pytest.mark.parametrize("key", ["deepseek-v3", "deepseek-v2-lite", "minicpm3-4b", "glm-5"])
def test_expanding_wins_where_the_quadratic_says(key, context):
    config = dense(PRESETS[key].config)  # GLM-5 attends to no more than its choice
    assert costs.expanding_wins(config, context) == by_formula(config, context)


def test_by_the_clock_a_slow_memory_moves_the_crossing():
    slow = replace(H200, bytes_per_second=H200.bytes_per_second / 4)
    first = costs.expanding_wins(V3, 32_768, slow)
    assert first > costs.expanding_wins(V3, 32_768, H200) == costs.expanding_wins(V3, 32_768)

    def ahead(queries):
        forms = {
            form: costs.decode(V3, 32_768, form, new_tokens=queries)
            for form in ("expanded", "absorbed")
        }
        return slow.seconds(forms["expanded"]) < slow.seconds(forms["absorbed"])

    assert ahead(first)
    assert not ahead(first - 1)


def test_absorbing_stays_ahead_where_the_latent_is_narrow():
    assert costs.expanding_wins(replace(V3, d_latent_kv=128), 4096) is None


def test_an_attention_turns_compute_bound_at_heads_times_query_tokens():
    # 2 rows (2 c + r) FLOP for (c + r) numbers of 2 bytes: 1.889 a row; 184 FLOP/byte: about 97.
    measured = Device(
        name="H200", flops_per_second=790e12, bytes_per_second=4.3e12, source="measured"
    )
    assert costs.attention_turns(V3, 2**19, measured) == math.ceil(790 / 4.3 / (1088 / 576)) == 98
    assert costs.attention_intensity(V3, 2**19, 128, H200) == pytest.approx(128 * 1088 / 576)
    wide = replace(H200, dtype_bytes=4)
    assert costs.attention_intensity(V3, 2**19, 128, wide) == pytest.approx(64 * 1088 / 576)


def test_the_batch_from_which_a_step_is_compute_bound():
    def step(batch):
        return costs.decode(V3, 32_768, batch=batch)

    turn = costs.step_turns(step, H200)
    assert step(turn).flops_per_byte >= H200.ridge > step(turn - 1).flops_per_byte
    full = costs.step_turns(lambda n: costs.decode(V3, 32_768, cache="kv", batch=n), H200)
    assert full is None


def test_rates_that_are_none_are_refused():
    with refusing("positive", name="bytes_per_second", value=0):
        Device(name="x", flops_per_second=1e12, bytes_per_second=0, source="none")
