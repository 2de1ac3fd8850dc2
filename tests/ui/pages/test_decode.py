"""The decode page: counts against closed forms, real caches, the same output, play and cancel."""

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, GroupedConfig, LatentCache, MultiHeadLatentAttention, costs
from mla_engine.studies.words import hidden_states
from ui.engine.model import SMALL_CONFIG
from ui.pages.decode import controls as decode_controls
from ui.pages.decode import run as decode_run
from ui.parts.ways import Way
from ui.words.numbers import prefixed, size, times

PAGE = "pages/decode.py"
SMALL = {
    "preset": "small", "d_model": "64", "n_heads": "4", "n_kv_heads": "2", "d_head": "16",
    "d_value": "16", "d_latent_kv": "32", "d_latent_q": "48", "d_rope": "8",
}  # fmt: skip
LITE = PRESETS["deepseek-v2-lite"].config


def control(at: AppTest, name: str):
    widgets = [*at.slider, *at.select_slider, *at.button_group]
    return next(w for w in widgets if w.key == f"{name}:en")


def button(at: AppTest, key: str):
    return next((b for b in at.button if b.key == key), None)


def plain(text: str) -> str:
    return text.replace("\xa0", " ")


def test_the_page_opens_on_a_step_of_v2_lite_run_with_some_heads(opened):
    at = opened(PAGE)
    mha, mla = 12 * 2 * 16 * 128 * 4, 12 * 576 * 4  # tokens x numbers x bytes
    held = f"MHA holds {size(mha)} per layer, {times(mha / mla)} the {size(mla)} of MLA"
    assert f"after 12 tokens {held}" in plain(at.title[0].value)
    table = at.table[0].value
    cost = costs.decode(LITE, 11, "expanded", dtype_bytes=4)
    row = table.loc["MLA, expanded each step"]
    assert plain(row.iloc[1]) == size(11 * 576 * 4 + 12 * 16 * 256 * 4)
    assert row.iloc[2] == prefixed(cost.total_flops / 2)
    assert len(table) == 6
    assert all(cell.endswith("s") for cell in table.iloc[:, 3])
    assert all(float(cell) < 1e-5 for cell in table.iloc[:, 4])
    assert "with 4 of the heads" in next(c.value for c in at.caption if "Held" in c.value)
    assert at.query_params == {}


def test_a_link_opens_a_step_and_on_and_back_move_it(opened):
    at = opened(PAGE, **SMALL, dec_step="31", dec_prompt="4")
    assert "after 35 tokens" in at.title[0].value
    button(at, "dec_step_on").click().run()
    assert at.query_params["dec_step"] == "32"
    assert "after 36 tokens" in at.title[0].value
    assert button(at, "dec_step_on").disabled
    button(at, "dec_step_back").click().run()
    assert "after 35 tokens" in at.title[0].value
    control(at, "dec_prompt").set_value(64).run()
    assert "after 95 tokens" in at.title[0].value


def test_playing_goes_on_by_itself_until_the_last_step(opened, monkeypatch):
    at = opened(PAGE, **SMALL, dec_step="31", dec_speed="fast")
    button(at, "dec_step_play").click().run()
    assert button(at, "dec_step_play").label == "Pause"
    assert at.session_state.settings["dec_step"] == 31, "the run that draws the page does not move"
    at.session_state["dec_step:due"] = 0.0
    tick = decode_controls.player
    monkeypatch.setattr(decode_controls, "ticking", lambda: tick().tick())  # one that is due
    at.run()
    assert not at.exception
    assert at.session_state.settings["dec_step"] == 32
    assert button(at, "dec_step_play").label == "Play", "it stops at the end"


def test_a_cancelled_step_waits_for_the_reader(opened):
    at = opened(PAGE, **SMALL)
    at.session_state.dec_cancelled = present_step(at)  # what the button Cancel does meanwhile
    at.run()
    assert at.table[0].value.iloc[0, 3] == "…"
    button(at, "dec_run").click().run()
    assert at.table[0].value.iloc[0, 3].endswith("s")


def present_step(at):
    """The key of the present step, as the page makes it."""
    mla = SMALL_CONFIG
    common = {"d_model": 64, "n_heads": 4, "d_head": 16, "rope": mla.rope}
    groups = {"mha": 4, "gqa": 2, "mqa": 1}
    ways = [Way(GroupedConfig(**common, n_kv_heads=n), "expanded", "kv") for n in groups.values()]
    forms = (("expanded", "kv"), ("expanded", "latent"), ("absorbed", "latent"))
    ways += [Way(mla, *form) for form in forms]
    return (4, 4, 8, at.session_state.settings["seed"], *ways)


def test_a_run_beyond_the_budget_is_refused_and_the_rest_lives(opened, monkeypatch):
    st.cache_resource.clear()
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00005")
    at = opened(PAGE, **SMALL, seed="9")
    assert "a run may hold" in at.error[0].value
    assert at.table[0].value.iloc[0, 3] == "…"
    assert control(at, "dec_step").value == 4


@pytest.mark.parametrize(
    ("cache", "form"), [("kv", "expanded"), ("latent", "expanded"), ("latent", "absorbed")]
)
def test_a_runner_does_what_decoding_by_hand_does(cache, form):
    runner = decode_run.Runner(Way(SMALL_CONFIG, form, cache), 4, 70, 3)
    assert runner.pieces_to(3) == 3  # 64 and 8 tokens before the step, and the step
    storage = runner.cache.storage
    for step in (3, 2, 5):  # on, back and on again
        while runner.pieces_to(step):
            runner.advance(step)
    assert runner.cache.storage is storage, "going back must not copy the cache"
    words = tuple(str(n) for n in range(70 + decode_run.ROOM))
    h = torch.from_numpy(hidden_states(words, 3, 64))[None]
    mla = MultiHeadLatentAttention(SMALL_CONFIG, seed=3)
    _, held = mla.decode(h[:, :71], LatentCache.empty(SMALL_CONFIG))
    for step in (2, 3, 4, 5):
        trace, held = mla.decode(h[:, held.length : held.length + 1], held)
        if step not in runner.steps:
            continue
        by_hand = trace.u[0, 0].numpy()
        np.testing.assert_allclose(runner.steps[step].u, by_hand, rtol=1e-4, atol=1e-6)
        assert runner.steps[step].difference < 1e-5
    numbers = 40 if cache == "latent" else 4 * (16 + 8 + 16)
    assert [runner.steps[n].held_bytes for n in (2, 3, 5)] == [
        n * numbers * 4 for n in (72, 73, 75)
    ]
    assert all(step.seconds > 0 for step in runner.steps.values())


def test_a_step_that_is_kept_is_not_run_again(opened, monkeypatch):
    opened(PAGE, **SMALL, dec_step="6")
    monkeypatch.setattr(decode_run.Runner, "advance", lambda self, step: pytest.fail("run again"))
    opened(PAGE, **SMALL, dec_step="6")


def test_a_grouped_model_says_that_its_latent_is_assumed(opened):
    at = opened(PAGE, preset="llama-3-8b", d_model="4096", n_heads="32", n_kv_heads="8",
                d_latent_kv="512", d_rope="64", dec_heads="1")  # fmt: skip
    assert any("no MLA" in m.value and "$d_c$ = 512" in m.value for m in at.markdown)
    assert plain(at.table[0].value.loc["GQA, g = 8"].iloc[0]) == size(12 * 2 * 8 * 128 * 4)


def test_chinese_has_the_same_numbers(opened):
    at = opened(PAGE, **SMALL, lang="zh")
    assert "12 个" in at.title[0].value
    assert at.table[0].value.loc["MLA，吸收"].iloc[4] != "…"
