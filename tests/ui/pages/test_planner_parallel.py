"""The planner with a pipeline, with tokens dealt out and with MTP layers, by exact arithmetic.

DeepSeek-V3's 61 layers keep 512 + 64 numbers of a token; vLLM deals them out as 31 and 30.
"""

from fractions import Fraction
from html import unescape
from math import floor

import pytest

from tests.ui.pages.test_planner import CONTEXT, GIB, PAGE, Opened, room
from tests.ui.screen import charts, lead, plain, says, speech, statement


def test_dealt_tokens_leave_an_eighth_of_a_latent_on_each_gpu(opened: Opened):
    at = opened(PAGE, plan_dcp="8")
    sequence = 61 * 576 * CONTEXT // 8
    assert lead(at)[0] == f"{floor(room() / sequence)} sequences"
    said = speech(at)
    assert says(said, "planner.split", whole="1.07 GiB", each=f"{sequence / 2**20:.0f} MiB")
    heads, others = 128 // 8, 7
    received = 61 * others * heads * ((576 + 512) * 2 + 8 * 4)
    assert says(said, "planner.dealt_tokens", bytes=f"{received / 2**20:.1f} MiB")
    assert "TP8 × DP1, DCP8" in charts(at)[-2].names


def test_a_pipeline_shows_the_stage_where_fewest_fit(opened: Opened):
    at = opened(PAGE, plan_pipeline="2", plan_tensor="4")
    assert says(speech(at), "planner.stages", layers="31, 30")
    fitting = int(lead(at)[0].split()[0].replace(",", ""))
    memory, cache = charts(at)[0], fitting * Fraction(31 * 576 * CONTEXT, GIB)
    stage = 1 if "GPU of stage 1" in speech(at) else 2
    assert memory.values("cache", "x")[0] == pytest.approx(
        float(cache if stage == 1 else cache * 30 / 31)
    )
    assert "8 × H200 SXM" in plain(statement(at))
    assert says(" ".join(one.value for one in at.markdown), "planner.assumed_stages")


def test_what_a_gpu_receives_is_that_of_its_stage(opened: Opened):
    """Stage 1 has 31 of 61 layers and stage 2 the rest."""
    at = opened(PAGE, plan_pipeline="2", plan_dcp="8")
    layers = 31 if "GPU of stage 1" in speech(at) else 30
    received = layers * 7 * (128 // 8) * ((576 + 512) * 2 + 8 * 4)
    said = f"the GPU drawn receives at least {received / 2**20:.2f} MiB from the others"
    assert said in plain(speech(at))


def test_the_cache_of_mtp_layers_is_held_where_a_model_has_them(opened: Opened):
    at = opened(PAGE, plan_mtp="1")
    assert lead(at)[0] == f"{floor(room() / (62 * 576 * CONTEXT))} sequences"
    assert "MTP layers is held, too (1 of DeepSeek-V3 / R1 (671B))" in speech(at)
    at = opened(PAGE, plan_mtp="1", plan_model="llama-3-70b")
    assert says(unescape(at.error[0].value), "count.no_mtp", name="Llama-3-70B")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"plan_model": "llama-3-70b", "plan_dcp": "2"}, "8 KV heads, so at most 1"),
        ({"plan_model": "gemma-3-27b", "plan_dcp": "2"}, "window"),
        ({"plan_dcp": "16"}, "must divide the 8 GPUs per group"),
        ({"plan_pipeline": "64"}, "more than the 61 layers"),
        ({"plan_model": "gemma-3n-e4b", "plan_pipeline": "2"}, "part layers"),
    ],
)
def test_what_no_engine_does_is_said_with_its_numbers(opened: Opened, link: dict, said: str):
    at = opened(PAGE, **link)
    assert said in unescape(at.error[0].value)
    assert not at.exception
