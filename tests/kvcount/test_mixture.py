"""Mixtures of experts: which models are some, and that none has a bound of speed without need."""

from functools import partial

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from kvcount import MODELS, Plan, Storage, UncountedError, read
from kvcount.tests.published import LLAMA_3_70B, V3

DENSE = {"granite-4.0-h-micro", "nemotron-h-56b"}  # of types that have mixtures, too
BY_TYPE = {
    key: one.row["config"]["model_type"] for key, one in MODELS.items() if "config" in one.row
}


def has_experts(model_type: str) -> bool:
    """Tell whether the library gives the type experts unless a file says otherwise."""
    if model_type not in CONFIG_MAPPING:
        return False
    given = CONFIG_MAPPING[model_type]().to_dict()
    names = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
    return any(isinstance(given.get(name), int) and given[name] > 1 for name in names)


@pytest.mark.parametrize("key", [k for k, one in BY_TYPE.items() if has_experts(one)])
def test_each_stored_mixture_says_how_many_parameters_a_token_uses(key: str):
    one = MODELS[key]
    if key in DENSE:
        assert not one.mixture
        return
    assert one.model().mixture
    assert 0 < one.active < one.parameters


def test_the_library_has_mixtures_of_many_types():
    assert len({one for one in BY_TYPE.values() if has_experts(one)}) >= 20


@pytest.mark.parametrize(
    ("keys", "mixture"),
    [
        ({"n_routed_experts": 256}, True),
        ({"num_local_experts": 8}, True),
        ({"moe_num_experts": [64, 64]}, True),
        ({"ffn_config": {"moe_num_experts": 16}}, True),
        ({"num_experts": 0, "num_experts_per_tok": 2}, None),
        ({"num_local_experts": 1, "n_shared_experts": 2}, None),
        ({"n_routed_experts": None}, None),
        ({"n_routed_experts": "256", "num_experts": []}, None),
        ({}, None),
    ],
)
def test_a_config_says_whether_it_is_one(keys: dict, mixture: bool | None):
    assert read(LLAMA_3_70B | keys).mixture is mixture


def test_no_bound_of_speed_is_made_of_all_parameters():
    config = V3 | {"n_routed_experts": 256}
    plan = Plan(model=read(config), storage=Storage(), parameters=671e9, gpus=16, context=1000)
    assert not plan.bounded
    assert plan.largest_batch > 0
    for make in (lambda: plan.step(1), lambda: plan.first_token_seconds, lambda: plan.prompt_flops):
        with pytest.raises(UncountedError, match="mixture of experts"):
            make()
    assert Plan(model=read(V3), storage=Storage(), parameters=671e9).bounded


def test_the_report_says_what_is_missing_and_how_to_give_it(plan):
    asked = ("--parameters", "671e9", "--weights", "fp8", "--gpus", "8")
    mixture = V3 | {"n_routed_experts": 256, "num_experts_per_tok": 8}
    planned = partial(plan, mixture, *asked)
    found = planned("--json").found
    assert (found["mixture"], found["active_parameters"]) == (True, None)
    assert (found["steps"], found["first_token"]) == ([], None)
    assert found["largest_batch"] > 0
    text = planned().out
    assert "--active 37e9" in text
    assert "tokens/s" not in text
    assert "First token" not in text
    assert "not known how many active" in text
    given = planned("--json", "--active", "37e9").found
    assert [one["routing"] for one in given["steps"]][-1] == "own weights"


def test_tables_are_no_experts(plan):
    found = plan("gemma-4-e2b", "--json").found
    assert found["active_parameters"] == 2.3e9
    assert {one["routing"] for one in found["steps"]} == {"same weights"}


def test_another_count_of_the_whole_keeps_the_active_ones_that_it_can_have(plan):
    for total, active in (("700e9", 36_625_603_584), ("1e9", None)):
        found = plan("deepseek-v3", "--json", "--parameters", total).found
        assert found["active_parameters"] == active
