"""The command `kvcount plan`: its report in both forms, and its refusals."""

import pytest

from kvcount import MODELS, Plan, storage
from kvcount.tests.published import V3

V3_ASKED = (
    "deepseek-v3", "--gpus", "8", "--data", "2", "--kv", "fp8", "--weights", "fp8",
    "--active", "37e9", "--context", "32768", "--prompt", "1024",
)  # fmt: skip


def test_json_has_the_figures_of_the_plan(plan):
    found = plan(*V3_ASKED, "--json").found
    wanted = Plan(
        model=MODELS["deepseek-v3"].model(), storage=storage("fp8"), parameters=671_026_404_352,
        active=37e9, gpus=8, data=2, context=32_768, prompt=1024, weight_bytes=1,
    )  # fmt: skip
    most = wanted.largest_batch
    assert (found["largest_batch"], found["tensor"]) == (most, 4)
    assert [(one["batch"], one["routing"]) for one in found["steps"]] == [
        (2, "same weights"), (2, "own weights"), (most, "same weights"), (most, "own weights"),
    ]  # fmt: skip
    last = wanted.step(most, spread=True)
    assert found["steps"][-1]["seconds_at_least"] == float(last.seconds)
    assert found["steps"][-1]["tokens_per_second_at_most"] == float(most / last.seconds)
    assert found["first_token"]["seconds_at_least"] == float(wanted.first_token_seconds)
    assert found["expanding"]["queries_from"] == 170


def test_markdown_says_the_same(plan):
    out, found = plan(*V3_ASKED, "--markdown").out, plan(*V3_ASKED, "--json").found
    assert out == plan(*V3_ASKED).out
    assert out.startswith("# Plan: DeepSeek-V3 / R1 (671B)\n")
    assert "| overhead | 2.147 GB |" in out
    assert f"Largest batch: {found['largest_batch']:,} sequences of 32,768 tokens." in out
    assert f"at least {found['first_token']['seconds_at_least']:.4g} s" in out
    assert all(f"- {line}" in out for line in found["assumptions"])
    rows = [line for line in out.splitlines() if "weights | " in line and " | " in line]
    shown = [f"{step['seconds_at_least'] * 1e3:.4g}" for step in found["steps"]]
    assert [row.split(" | ")[4] for row in rows if "same" in row or "own" in row] == shown


def test_what_does_not_fit_says_what_is_missing(plan):
    found = plan("deepseek-v3", "--json").found
    assert (found["largest_batch"], found["steps"], found["first_token"]) == (0, [], None)
    assert found["missing_bytes_each"] == (
        671_026_404_352 * 2 + 2**31 + 61 * 1152 * 131_072 - 143_771 * 2**20
    )
    assert "Largest batch: 0, each GPU lacks 1.203 TB." in plan("deepseek-v3").out


def test_all_parameters_count_where_no_active_ones_are_given(plan):
    out = plan("llama-3-8b", "--context", "131072").out
    assert "| 8,030,261,248, 7,504,924,672 active |" in out
    assert "No number of active parameters was given" in plan("qwen3-0.6b").out
    assert "own weights" not in out
    assert "the model was made for 8,192" in out


@pytest.mark.parametrize("key", MODELS)
def test_every_stored_model_is_planned_or_says_why_not(plan, key):
    said = plan(key, "--json", "--gpus", "64", "--gpu", "b200", "--kv", "published")
    if MODELS[key].parameters:
        assert said.found["largest_batch"] > 0
        assert all(step["seconds_at_least"] > 0 for step in said.found["steps"])
    else:
        assert "--parameters" in said.refusal


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kv", "int3"), ("--weights", "int3"), ("--gpu", "abacus"), ("--gpus", "0"),
        ("--data", "2"), ("--context", "0"), ("--prompt", "0"), ("--prompt", "999999"),
        ("--parameters", "0"), ("--parameters", "nan"), ("--active", "1e12"),
        ("--overhead-gib", "-1"), ("--overhead-gib", "inf"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_is_refused_by_name(plan, arguments):
    error = plan("deepseek-v3", *arguments).refusal
    assert error.startswith("kvcount plan: ")
    assert arguments[0].strip("-").replace("-", "_") in error


def test_a_config_has_no_parameters_until_they_are_given(plan):
    assert "config.json has is not known" in plan(V3).refusal
    assert plan(V3, "--parameters", "1e9", "--json").found["parameters"] == 10**9
