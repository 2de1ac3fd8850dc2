"""A plan turns from memory to arithmetic, from too few GPUs to enough, between two forms."""

from dataclasses import replace
from fractions import Fraction

import pytest

from kvcount import MODELS, read, storage
from kvcount.planning.flops import expanding_from, form_flops, latent_widths, step_flops
from mla_engine import PRESETS
from tests.kvcount.test_plan import CONTEXT, MLA, PARAMETERS, V3_PLAN, only_attention

MACHINES = [("h200", 8, "fp8"), ("h100", 16, "bf16"), ("t4", 2, "fp8")]
GROUPS = [("h200", 1), ("h100", 1), ("h100", 4), ("l4", 1), ("l4", 3)]


@pytest.mark.parametrize(("gpu", "data", "kv"), MACHINES)
def test_from_some_batch_on_computing_takes_longer_than_reading(gpu: str, data: int, kv: str):
    plan = replace(V3_PLAN, gpu=gpu, gpus=16, data=data, storage=storage(kv))
    first = next(
        (
            n
            for n in range(data, 3000 * data, data)
            if plan.step(n).computing_seconds >= plan.step(n).reading_seconds
        ),
        None,
    )
    assert plan.computing_from == first


def test_reading_may_take_longer_at_any_batch():
    assert V3_PLAN.computing_from is None
    step = V3_PLAN.step(10**6)
    assert step.seconds == step.reading_seconds > step.computing_seconds
    assert replace(V3_PLAN, model=only_attention(), data=8, context=10**9).computing_from == 8


@pytest.mark.parametrize(("gpu", "data"), GROUPS)
def test_the_fewest_gpus_hold_a_sequence_and_one_less_a_group_does_not(gpu: str, data: int):
    plan = replace(V3_PLAN, gpu=gpu, gpus=data, data=data)
    found = plan.fewest_gpus
    assert found == next(
        n
        for n in range(data, 10**3, data)
        if Fraction(PARAMETERS, n) + 2 * 2**30 + 61 * 576 * CONTEXT <= plan.device.memory_bytes
    )


def test_no_number_of_gpus_holds_what_none_can_split():
    assert replace(V3_PLAN, gpu="t4", context=10**6, prompt=1).fewest_gpus is None
    assert replace(V3_PLAN, data=1, gpus=1, overhead_bytes=2**40).fewest_gpus is None


@pytest.mark.parametrize("key", MLA)
@pytest.mark.parametrize(("context", "queries"), [(0, 7), (100, 1), (4096, 300)])
def test_both_forms_differ_as_the_engine_s_costs_do(key: str, context: int, queries: int):
    config, model = PRESETS[key].config, MODELS[key].model()
    found = form_flops(model.n_heads, *latent_widths(model), context, queries)
    pairs = queries * (context + queries)
    absorbed = config.n_heads * pairs * 2 * 2 * config.d_latent_kv
    widths = config.d_head + config.d_value
    expanded = 2 * config.n_heads * widths * (pairs + context * config.d_latent_kv)
    assert found == (absorbed, expanded)
    if start := expanding_from(*latent_widths(model), context):
        for t, wins in ((start, True), (start - 1, False)):
            ours, theirs = form_flops(model.n_heads, *latent_widths(model), context, t)
            assert (ours > theirs) == wins


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("context", [999, 10**5])
def test_an_indexer_of_blocks_scores_every_key_too(context: int, flat: bool):
    config = dict(MODELS["minimax-m3"].row["config"])
    if flat:
        config |= {"index_n_heads": 4, "index_head_dim": 128, "index_block_size": 128}
        config |= {"index_topk_blocks": 16}
        own = config["sparse_attention_config"]
        config["sparse_attention_config"] = {"sparse_attention_freq": own["sparse_attention_freq"]}
    full = 64 * 2 * 128 * (context + 1)
    chosen = 64 * 2 * 128 * min(context + 1, 16 * 128)
    index = 4 * 128 * (context + 1)
    assert step_flops(read(config), context) == 2 * (3 * full + 57 * (chosen + index))


def test_every_indexer_says_how_many_heads_it_has():
    for one in MODELS.values():
        parts = [part.name for layer in one.model().groups for part in layer.parts]
        assert ("index" in parts) == (one.model().n_index_heads > 0), one.key


def test_what_a_name_or_a_paper_says_of_active_parameters():
    for key, billions in (("deepseek-v3", 37), ("qwen3-235b-a22b", 22), ("kimi-k2", 32)):
        assert round(MODELS[key].active, -9) == billions * 10**9
    assert MODELS["qwen3.8-2.4t-a95b"].active == 95 * 10**9
    assert MODELS["qwen3-0.6b"].active is None
    for one in MODELS.values():
        assert one.active is None or 0 < one.active < one.parameters
