"""Parameters of attention by a config.json, against the engine's own count of the same layers."""

import pytest

from kvcount import MODELS, Plan, Storage, read
from kvcount.tests.published import KIMI_K3, LLAMA_3_70B, V3
from mla_engine import costs
from mla_engine.presets import PRESETS


@pytest.mark.parametrize("key", PRESETS)
def test_the_count_is_the_engine_s(key: str):
    counted = sum(n * costs.parameters(config) for config, n in PRESETS[key].kinds)
    assert MODELS[key].model().attention_parameters == pytest.approx(counted, rel=3e-3)


def test_what_is_not_told_is_not_counted():
    assert read(V3).attention_parameters == 0  # no hidden_size
    told = read(V3 | {"hidden_size": 7168, "q_lora_rank": 1536}).attention_parameters
    assert told == pytest.approx(61 * costs.parameters(PRESETS["deepseek-v3"].config), rel=1e-4)
    assert read(KIMI_K3).attention_parameters == 0
    for odd in ("8192", True, -1, None, 2**40):
        config = V3 | {"hidden_size": odd, "q_lora_rank": 1536}
        assert read(config).attention_parameters == 0
    heads = 64 * 128 * 2 + 8 * 128 * 2
    assert read(LLAMA_3_70B).attention_parameters == 80 * 8192 * heads


@pytest.mark.parametrize(
    "key", ["deepseek-v3", "llama-3-70b", "glm-5", "kimi-k3", "deepseek-v4-flash"]
)
@pytest.mark.parametrize("ranks", [1, 8])
def test_a_plan_puts_on_each_gpu_its_share_of_the_layers_weights(key: str, ranks: int):
    preset, total = PRESETS[key], MODELS[key].parameters
    model = {"model": MODELS[key].model(), "storage": Storage(), "parameters": total}
    of_layers = sum(n * costs.parameters(config) for config, n in preset.kinds)
    for copies in (1, ranks):
        plan = Plan(**model, gpus=ranks, data=copies, context=1)
        each = 2 * (of_layers * copies + total - of_layers) / ranks
        assert float(plan.rank_weight_bytes) == pytest.approx(each, rel=1e-4)


def test_a_group_of_several_gpus_splits_its_attention():
    model = MODELS["deepseek-v3"].model()
    plan = Plan(model=model, storage=Storage(), parameters=671e9, gpus=8, data=2, weight_bytes=1)
    attention = model.attention_parameters
    assert plan.rank_weight_bytes == attention / 4 + (671 * 10**9 - attention) / 8
    step = Plan(
        model=model, storage=Storage(), parameters=671e9, active=37e9, gpus=8, data=8, context=1
    ).step(1)
    one_group, sequence = 2 * 37 * 10**9 / 8, 61 * 576 * 2
    alone = max(one_group + sequence / 8, 2 * attention + sequence)
    assert float(step.read_bytes) == pytest.approx(alone)
