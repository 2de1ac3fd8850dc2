"""The compute page by link and by hand: its numbers against the engine and plain arithmetic."""

import math

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, costs
from ui.pages.compute import view as compute_page
from ui.pages.compute.words import clock, flop
from ui.parts import measure as compute_page_measure

PAGE = "pages/compute.py"
V3 = PRESETS["deepseek-v3"].config
V3_LINK = {
    "preset": "deepseek-v3", "d_model": "7168", "n_heads": "128", "n_kv_heads": "8",
    "d_latent_q": "1536",
}  # fmt: skip


def control(at: AppTest, name: str, language: str = "en"):
    widgets = [*at.select_slider, *at.selectbox, *at.button_group]
    return next(w for w in widgets if w.key == f"{name}:{language}")


def said(at: AppTest, words: str) -> str:
    return next(m.value for m in at.markdown if words in m.value)


def button(at: AppTest, key: str):
    return next((b for b in at.button if b.key == key), None)


def test_the_page_opens_on_decode_with_intensities_and_ridge(opened):
    at = opened(PAGE)
    config = PRESETS["deepseek-v2-lite"].config
    cost = costs.decode(config, 32_768, batch=32)
    assert (
        f"on H200 SXM: absorbed MLA does {cost.flops_per_byte:.1f} FLOP per byte"
        in at.title[0].value
    )
    assert "below 206 memory is the limit" in at.title[0].value
    row = at.table[0].value.loc["MLA, absorbed"]
    seconds = 27 * cost.total_bytes / 4.8e12
    assert row.iloc[3] == f"{clock(seconds)}, memory-bound"
    assert row.iloc[0] == flop(27 * cost.total_flops)
    assert list(at.table[0].value.index) == [
        "MHA", "GQA, g = 8", "MQA", "MLA, full K and V", "MLA, expanded each step",
        "MLA, absorbed",
    ]  # fmt: skip
    assert at.query_params == {}


def test_a_link_brings_deepseek_v3_and_its_crossings(opened):
    at = opened(PAGE, **V3_LINK, cost_gpu="h200", cost_context="524288", cost_scope="layer")
    assert "Decoding DeepSeek-V3 / R1 (671B) on" in at.title[0].value
    assert "from **171** query tokens on" in said(at, "fewer FLOP than absorbing")
    rows = math.ceil(989.5 / 4.8 / (1088 / 576))  # FLOP per byte over those of one row
    turning = said(at, "absorbed attention alone")
    assert f"heads × query tokens = **{rows}**;" in turning
    assert "128 × 1 = 128: compute-bound" in turning
    full = costs.decode(V3, 2**19, cache="kv", batch=32)
    assert at.table[0].value.loc["MLA, full K and V"].iloc[0] == flop(full.total_flops)


def test_a_slower_device_and_more_queries_move_the_bounds(opened):
    at = opened(PAGE)
    assert "16 × 1 = 16: memory-bound" in said(at, "absorbed attention alone")
    control(at, "cost_queries").set_value(16).run()
    control(at, "cost_gpu").set_value("t4").run()
    assert at.query_params == {"cost_queries": "16", "cost_gpu": "t4"}
    turning = said(at, "absorbed attention alone")
    assert f"**{math.ceil(65 / 0.32 / (1088 / 576))}**;" in turning
    assert "16 × 16 = 256: compute-bound" in turning
    lite = costs.decode(PRESETS["deepseek-v2-lite"].config, 32_768, batch=32, new_tokens=16)
    assert at.table[0].value.loc["MLA, absorbed"].iloc[0] == flop(27 * lite.total_flops)


def test_prefill_counts_all_tokens_as_queries(opened):
    at = opened(PAGE, cost_phase="prefill", cost_context="4096", cost_batch="1", cost_scope="layer")
    config = PRESETS["deepseek-v2-lite"].config
    table = at.table[0].value
    for name, form in (("MLA, expanded", "expanded"), ("MLA, absorbed", "absorbed")):
        cost = costs.prefill(config, 4096, form)
        assert table.loc[name].iloc[0] == flop(cost.total_flops)
        assert clock(cost.total_flops / 989.5e12) in at.title[0].value
    assert len(table) == 5
    assert control(at, "cost_queries").disabled


def test_a_grouped_model_gets_an_assumed_latent(opened):
    at = opened(PAGE, preset="llama-3-8b", d_model="4096", n_heads="32", n_kv_heads="8")
    assert "no MLA" in said(at, "$d_c$ = 512 and $d_R$ = 64")
    llama = costs.decode(PRESETS["llama-3-8b"].config, 32_768, batch=32)
    assert at.table[0].value.loc["GQA, g = 8"].iloc[0] == flop(32 * llama.total_flops)


def test_sizes_that_cannot_be_are_refused_and_the_controls_stay(opened, monkeypatch):
    def refuse(decoding):
        raise ValueError("d_rope (3) must be even: try 2 or 4")

    monkeypatch.setattr(compute_page, "ways", refuse)
    at = opened(PAGE)
    assert "must be even" in at.error[0].value
    assert control(at, "cost_gpu").value == "h200"
    assert not at.table or len(at.table) == 1, "only the devices are left"


def test_measuring_is_on_request_and_for_the_sizes_that_it_names(opened, monkeypatch):
    monkeypatch.setattr(compute_page_measure, "MOST_SECONDS", 0.002)
    at = opened(PAGE, preset="small", cost_context="128", d_model="64", n_heads="4",
                n_kv_heads="2", d_head="16", d_value="16", d_latent_kv="32", d_latent_q="48",
                d_rope="8")  # fmt: skip
    assert button(at, "cost_again") is None
    button(at, "cost_measure").click().run()
    assert not at.exception
    assert button(at, "cost_measure") is None
    assert "CPU (1 thread, float32)" in said(at, "Taken on")
    assert "128 tokens in the cache, 1 new" in said(at, "Taken on")
    assert list(at.table[1].value.index) == list(at.table[0].value.index)
    assert all(ratio.endswith("×") for ratio in at.table[1].value.iloc[:, 2])
    control(at, "cost_context").set_value(256).run()
    assert button(at, "cost_measure"), "other sizes are measured on request again"


def test_this_machine_has_its_own_roof(opened):
    at = opened(PAGE, cost_gpu="this")
    rates = compute_page_measure.machine()
    assert f"ridge {rates.ridge:#.3g}".rstrip(".") in said(at, "absorbed attention alone")
    assert "measured here" in next(c.value for c in at.caption if "TFLOP/s" in c.value)
    assert "4 bytes a number" in next(c.value for c in at.caption if "bytes a number" in c.value)


def test_timed_sizes_are_halved_until_the_machine_can_run_them():
    ways = {"mla_absorbed": compute_page_measure.Way(V3, "absorbed", "latent")}
    trial = compute_page_measure.trials(ways, True, 2**20, 1024)["mla_absorbed"]
    assert trial.heads <= compute_page_measure.MOST_HEADS
    assert trial.cost().cache_read_bytes <= compute_page_measure.MOST_BYTES
    assert trial.queries <= trial.context < 2**20


@pytest.mark.parametrize("language", ["en", "zh"])
def test_chinese_has_the_same_numbers(opened, language):
    at = opened(PAGE, lang=language)
    assert "30.3" in at.title[0].value
    assert "**110**" in next(m.value for m in at.markdown if "110" in m.value)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(2, "2.00 s"), (0.0485, "48.5 ms"), (3.2e-6, "3.20 µs")]
)
def test_clocks(seconds, shown):
    assert clock(seconds).replace("\xa0", " ") == shown


def test_downloads_hold_the_numbers_of_the_chart(opened):
    shown = compute_page.Scene(
        {"mla_absorbed": compute_page_measure.Way(V3, "absorbed", "latent")},
        costs.GPUS["h200"], True, 4096, 1, 8, 61,
    )  # fmt: skip
    row = compute_page.table(shown).iloc[0]
    cost = costs.decode(V3, 4096, batch=8)
    assert row["flop"] == 61 * cost.total_flops
    parts = [row[name] for name in row.index if name.endswith("_bytes")]
    assert sum(parts) == pytest.approx(61 * cost.total_bytes)
    assert compute_page.expansion_table(shown)["absorbed_flop"][0] == (
        costs.decode(V3, 4096).total_flops
    )
