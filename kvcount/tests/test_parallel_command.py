"""--pipeline, --dcp and --mtp of `kvcount cache` and `kvcount plan`, as text and as JSON."""

import re

import pytest

from kvcount.tests.conftest import Run

V3_ROW = 576 * 2  # bytes of a token in a layer
SHARED = ("--gpus", "16", "--pipeline", "2", "--dcp", "8")


def test_cache_says_what_each_gpu_of_the_fullest_stage_holds(cache: Run):
    sizes = ("deepseek-v3", *SHARED, "--context", "32768")
    found = cache(*sizes, "--json").found["gpus"]
    assert (found["count"], found["pipeline"], found["context_parallel"]) == (16, 2, 8)
    most = 31 * V3_ROW
    assert found["tensor"]["stored_bytes_per_token_each"] == most
    assert found["context"]["stored_bytes_each"] == most * 32_768 // 8
    assert found["data"]["stored_bytes_per_token_each"] == most
    lines = cache(*sizes).lines
    assert any(line.startswith("most of 2 stages") for line in lines)
    assert any(line.startswith("and tokens dealt out (DCP) 1 4,464 146.3 MB") for line in lines)


@pytest.mark.parametrize(
    ("gpu", "gpus", "ways"),
    [
        ("h100", 4, ("--pipeline", "4")),
        ("l40s", 16, ("--pipeline", "2", "--dcp", "8")),
        ("l40s", 8, ()),
    ],
)
def test_on_as_many_gpus_as_are_advised_the_weights_fit(cache: Run, gpu: str, gpus: int, ways):
    sizes = ("deepseek-v3", "--gpu", gpu, *ways)
    advised = int(re.search(r"--gpus (\d+) or more", cache(*sizes, "--gpus", str(gpus)).out)[1])
    step = next(n for n in range(1, 99) if not cache(*sizes, "--gpus", str(n)).error)
    for n, fits in ((advised - step, False), (advised, True)):
        found = cache(*sizes, "--gpus", str(n), "--json").found["gpus"]
        assert (found["tensor"]["weight_bytes_each"] < found["memory_bytes"]) == fits


def test_a_gpu_of_a_stage_holds_that_stage(cache: Run):
    lines = cache("deepseek-v3", "--gpus", "4", "--pipeline", "4").lines
    assert any(line.startswith(f"a stage on each GPU 1 {16 * V3_ROW:,}") for line in lines)
    assert any(line.startswith("all of it 1") for line in cache("deepseek-v3").lines)


def test_cache_counts_mtp_layers_where_it_is_asked_to(cache: Run):
    assert cache("deepseek-v3").lines[1] == "each token adds 70,272 bytes (35,136 numbers)"
    said = cache("deepseek-v3", "--mtp").lines
    assert said[0] == "DeepSeek-V3 / R1 (671B): 61 layers and 1 of MTP, cache in bf16"
    assert said[1] == f"each token adds {62 * V3_ROW:,} bytes (35,712 numbers)"
    found = cache("minimax-m2.5", "--mtp", "--json").found
    assert (found["layers"], found["mtp_layers"]) == (62, 3)
    assert found["stored_bytes_per_token"] == 65 * 2 * 8 * 128 * 2


def test_a_plan_has_its_stages_parts_and_what_is_exchanged(plan: Run):
    sizes = ("deepseek-v3", *SHARED, "--kv", "fp8", "--weights", "fp8", "--context", "32k", "--mtp")
    found = plan(*sizes, "--json").found
    assert [one["layers"] for one in found["stages"]] == [31, 30]
    assert [one["sequence_bytes_each"] for one in found["stages"]] == [31 * 576 * 4096] * 2  # MTP's
    assert found["stages"][0]["weight_bytes_each"] < found["weight_bytes_each"]
    last = found["steps"][-1]
    assert last["parts"] >= 2
    each = 30 * 7 * 16 * ((576 + 512) * 2 + 8 * 4)  # of one token on a GPU of the smaller stage
    assert found["steps"][0]["exchanged_bytes_each"] == each
    said = " ".join(plan(*sizes).lines)
    for words in (
        "8 tensor x 1 data x 2 pipeline parallel, tokens dealt out over 8",
        "| stage | layers | weights of a GPU | cache of one sequence |",
        "| 1 | 31 |", "each GPU receives",
        "parts, one after another", "The cache of 1 MTP layers is held",
        "Layers are dealt out over the stages as vLLM does",
    ):  # fmt: skip
        assert words in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gemma-3-27b", "--gpus", "8", "--dcp", "2"), "a window of them, which no engine"),
        (("llama-3-70b", "--gpus", "8", "--dcp", "2"), "8 KV heads, so at most 1"),
        (("deepseek-v3", "--gpus", "8", "--pipeline", "3"), "multiple of pipeline"),
        (("llama-3-70b", "--mtp"), "Llama-3-70B has no MTP layers"),
        (("glm-5.3-flash", "--mtp"), "of which kind the MTP layers of GLM-5.3-Flash are"),
    ],
)
def test_both_refuse_what_engines_do_not(cache: Run, plan: Run, words: tuple, said: str):
    for command in (cache, plan):
        if command is plan and "glm" in words[0]:
            words = (*words, "--parameters", "300e9", "--active", "30e9")
        assert said in command(*words).refusal
