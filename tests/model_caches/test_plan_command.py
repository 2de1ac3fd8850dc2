"""The command `mla plan`: its report in both forms, its refusals, and that it needs no torch."""

import json
import subprocess
import sys

import pytest

from mla_engine.command import REFUSED, main
from mla_engine.model_caches import MODELS, Plan, storage
from tests.model_caches.published import V3
from tests.model_caches.test_command import HEAVY, ROOT, TORCH_FREE

V3_ASKED = (
    "deepseek-v3", "--gpus", "8", "--data", "2", "--kv", "fp8", "--weights", "fp8",
    "--active", "37e9", "--context", "32768", "--prompt", "1024",
)  # fmt: skip


@pytest.fixture
def ran(capsys):
    """What the command says: its status, what it prints, and what it refuses."""

    def run(*arguments):
        status = main(["plan", *arguments])
        out, error = capsys.readouterr()
        return status, out, error

    return run


def test_json_has_the_figures_of_the_plan(ran):
    status, out, error = ran(*V3_ASKED, "--json")
    found = json.loads(out)
    plan = Plan(
        model=MODELS["deepseek-v3"].model(), storage=storage("fp8"), parameters=671e9,
        active=37e9, gpus=8, data=2, context=32_768, prompt=1024, weight_bytes=1,
    )  # fmt: skip
    most = plan.largest_batch
    assert (status, error) == (0, "")
    assert (found["largest_batch"], found["tensor"]) == (most, 4)
    assert [(one["batch"], one["routing"]) for one in found["steps"]] == [
        (2, "same weights"), (2, "own weights"), (most, "same weights"), (most, "own weights"),
    ]  # fmt: skip
    last = plan.step(most, spread=True)
    assert found["steps"][-1]["seconds_at_least"] == float(last.seconds)
    assert found["steps"][-1]["tokens_per_second_at_most"] == float(most / last.seconds)
    assert found["first_token"]["seconds_at_least"] == float(plan.first_token_seconds)
    assert found["expanding"]["queries_from"] == 170


def test_markdown_says_the_same(ran):
    _, out, _ = ran(*V3_ASKED, "--markdown")
    _, usual, _ = ran(*V3_ASKED)
    _, figures, _ = ran(*V3_ASKED, "--json")
    found = json.loads(figures)
    assert out == usual
    assert out.startswith("# Plan: DeepSeek-V3 / R1 (671B)\n")
    assert "| overhead | 2.147 GB |" in out
    assert f"Largest batch: {found['largest_batch']:,} sequences of 32,768 tokens." in out
    assert f"at least {found['first_token']['seconds_at_least']:.4g} s" in out
    assert all(f"- {line}" in out for line in found["assumptions"])
    rows = [line for line in out.splitlines() if "weights | " in line and " | " in line]
    shown = [f"{step['seconds_at_least'] * 1e3:.4g}" for step in found["steps"]]
    assert [row.split(" | ")[4] for row in rows if "same" in row or "own" in row] == shown


def test_what_does_not_fit_says_what_is_missing(ran):
    _, out, _ = ran("deepseek-v3", "--json")
    found = json.loads(out)
    assert (found["largest_batch"], found["steps"], found["first_token"]) == (0, [], None)
    assert found["missing_bytes_each"] == 671e9 * 2 + 2**31 + 61 * 1152 * 131_072 - 141e9
    assert "Largest batch: 0, each GPU lacks 1.212 TB." in ran("deepseek-v3")[1]


def test_all_parameters_count_where_no_active_ones_are_given(ran):
    _, out, _ = ran("llama-3-8b", "--context", "131072")
    assert "8,000,000,000, 8,000,000,000 active" in out
    assert "No number of active parameters was given" in out
    assert "own weights" not in out
    assert "the model was made for 8,192" in out


@pytest.mark.parametrize("key", MODELS)
def test_every_stored_model_is_planned_or_says_why_not(ran, key):
    known = MODELS[key]
    status, out, error = ran(key, "--json", "--gpus", "64", "--gpu", "b200", "--kv", "published")
    if known.parameters:
        found = json.loads(out)
        assert status == 0
        assert found["largest_batch"] > 0
        assert all(step["seconds_at_least"] > 0 for step in found["steps"])
        return
    assert (status, out) == (REFUSED, "")
    assert "--parameters" in error


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kv", "int3"), ("--weights", "int3"), ("--gpu", "abacus"), ("--gpus", "0"),
        ("--data", "2"), ("--context", "0"), ("--prompt", "0"), ("--prompt", "999999"),
        ("--parameters", "0"), ("--parameters", "nan"), ("--active", "1e12"),
        ("--overhead-gib", "-1"), ("--overhead-gib", "inf"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_is_refused_by_name(ran, arguments):
    status, out, error = ran("deepseek-v3", *arguments)
    assert (status, out) == (REFUSED, "")
    assert error.startswith("mla plan: ")
    assert arguments[0].strip("-").replace("-", "_") in error
    assert error.count("\n") == 1


def test_a_config_has_no_parameters_until_they_are_given(ran, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(V3), "utf-8")
    status, _, error = ran(str(file))
    assert (status, "config.json has is not known" in error) == (REFUSED, True)
    status, out, _ = ran(str(file), "--parameters", "1e9", "--json")
    assert (status, json.loads(out)["parameters"]) == (0, 10**9)


def test_it_plans_without_torch():
    code = TORCH_FREE.format(heavy=HEAVY, arguments=["plan", "deepseek-v3", "--json"])
    out = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    *figures, imported = out.splitlines()
    assert json.loads("".join(figures))["largest_batch"] == 0
    assert imported == "[]"
