"""Plans: against arithmetic by hand, the engine's costs, and what must grow with what."""

from dataclasses import replace
from fractions import Fraction

import pytest

from kvcount import MODELS, Layer, Model, Part, Plan, Storage, read, storage
from kvcount.planning.flops import (
    endless_crossing,
    expanding_from,
    latent_widths,
    prompt_flops,
    rows_of_prompt,
    step_flops,
)
from kvcount.refusals import RefusedError
from kvcount.tests.published import (
    GLM_5_2,
    KIMI_K3,
    LLAMA_3_70B,
    V3,
    V3_2,
    V4_FLASH,
)
from mla_engine import PRESETS, costs

PARAMETERS, ACTIVE, CONTEXT = 671 * 10**9, 37 * 10**9, 32_768
FP8 = Fraction(1979 * 10**12)  # FLOP/s of an H200
V3_PLAN = Plan(
    model=read(V3 | {"n_routed_experts": 256, "num_experts_per_tok": 8}),
    storage=storage("fp8"),
    parameters=PARAMETERS,
    active=ACTIVE,
    gpus=8,
    context=CONTEXT,
    prompt=1024,
    weight_bytes=1,
)
MLA = ("deepseek-v2", "deepseek-v2-lite", "deepseek-v3", "minicpm3-4b", "mistral-small-4-119b")


def test_what_fits_by_hand():
    room = 143_771 * 2**20 - Fraction(PARAMETERS, 8) - 2 * 2**30
    sequence = 61 * 576 * CONTEXT
    assert (V3_PLAN.room_bytes, V3_PLAN.sequence_bytes) == (room, sequence)
    assert V3_PLAN.largest_batch == room // sequence == 56
    assert V3_PLAN.missing_bytes == 0
    small = replace(V3_PLAN, gpu="h100")
    assert small.largest_batch == 0
    assert small.missing_bytes == sequence + Fraction(PARAMETERS, 8) + 2 * 2**30 - 81_559 * 2**20


@pytest.mark.parametrize(("data", "each"), [(1, 40), (2, 20), (8, 5)])
def test_a_step_by_hand(data: int, each: int):
    attention = 61 * 2 * 128 * (2 * 512 + 64) * (CONTEXT + 1)
    step = replace(V3_PLAN, data=data).step(40)
    assert step.read_bytes == Fraction(ACTIVE, 8) + each * 61 * 576 * CONTEXT
    assert step.flops == 40 * (2 * ACTIVE + attention)
    reading = step.read_bytes / (4800 * 10**9)
    computing = step.flops / (8 * FP8)
    assert step.seconds == max(reading, computing)
    assert (step.tokens_per_second, step.sequence_tokens_per_second) == (
        40 / step.seconds, 1 / step.seconds,
    )  # fmt: skip


def test_a_step_can_be_bound_by_its_flops():
    step = replace(V3_PLAN, context=1, prompt=None).step(10**5)
    assert step.seconds == step.flops / (8 * FP8)


def test_the_fullest_group_computes_longest():
    plan = replace(V3_PLAN, model=only_attention(), data=8, context=10**6)
    attention = 2 * 10**5 * 2 * 64 * (10**6 + 1)
    for batch, sequences in ((1, 1), (8, 1), (9, 2), (16, 2)):
        step = plan.step(batch)
        assert step.flops == batch * (2 * ACTIVE + attention)
        mean = Fraction(2 * ACTIVE * batch + batch * attention, 8)
        assert step.seconds == max(mean, sequences * attention) / FP8


def only_attention() -> Model:
    """One layer that computes far more than it reads."""
    parts = (Part(name="latent", numbers=64),)
    return Model(model_type="x", layers=(Layer("latent", parts),), max_context=1, n_heads=10**5)


def test_sequences_with_weights_of_their_own_touch_more_up_to_all():
    cache = 61 * 576 * CONTEXT
    routed = (PARAMETERS - ACTIVE) * Fraction(32, 31)  # a token uses 8 of 256
    shared = ACTIVE - routed / 32
    for batch in (1, 5, 31, 32, 40):
        touched = shared + min(routed, batch * routed / 32)
        step = V3_PLAN.step(batch, spread=True)
        assert step.read_bytes == touched / 8 + batch * cache
        assert step.flops == V3_PLAN.step(batch).flops


def test_the_first_token_by_hand():
    attention = 61 * 2 * 128 * (128 + 128 + 64) * (1024 * 1025 // 2)
    flops = 2 * ACTIVE * 1024 + attention
    assert V3_PLAN.prompt_flops == flops
    assert V3_PLAN.first_token_seconds == flops / (8 * FP8)
    alone = replace(V3_PLAN, data=8, prompt=20_000)
    attention = 61 * 2 * 128 * (128 + 128 + 64) * (20_000 * 20_001 // 2)
    mean = (2 * ACTIVE * 20_000 + attention) / Fraction(8)
    assert alone.first_token_seconds == max(mean, attention) / FP8
    reading = Fraction(ACTIVE, 8) / (4800 * 10**9)
    assert replace(V3_PLAN, prompt=1).first_token_seconds == reading
    assert replace(V3_PLAN, prompt=None).prompt_tokens == CONTEXT


@pytest.mark.parametrize("key", [*MLA, "llama-3-8b", "gpt-2", "gemma-2b"])
def test_attention_is_what_the_engine_counts(key: str):
    config, model = PRESETS[key].config, MODELS[key].model()
    n_layers = len(model.layers)
    for context in (0, 1, 777):
        counted = costs.decode(config, context).attention_flops
        assert step_flops(model, context) == n_layers * counted
    each = (costs.decode(config, n, "expanded", cache="kv").attention_flops for n in range(9))
    assert prompt_flops(model, 9) == n_layers * sum(each)


@pytest.mark.parametrize("context", [100, 5000])
def test_with_an_indexer_it_is_the_scores_of_all_and_attention_to_the_choice(context: int):
    config = PRESETS["deepseek-v3.2-exp"].config
    flops = costs.decode(config, context).step_flops
    counted = sum(flops[name] for name in ("scores_C", "scores_R", "o_latent"))
    index = 2 * 64 * 128 * (context + 1)
    assert index in flops.values()
    model = MODELS["deepseek-v3.2-exp"].model()
    assert step_flops(model, context) == step_flops(read(V3_2), context) == 61 * (counted + index)


def test_pooled_entries_are_key_and_value_at_once():
    (layer,) = [one for one in read(V4_FLASH).groups if one.kind == "hca"]
    model = Model(model_type="x", layers=(layer,), max_context=1, n_heads=64)
    assert step_flops(model, 128_000 - 1) == 2 * 64 * 2 * 512 * (128 + 1000)


@pytest.mark.parametrize("config", [V3, V3_2, V4_FLASH, KIMI_K3, GLM_5_2, LLAMA_3_70B])
def test_rows_of_a_prompt_are_those_of_its_tokens(config: dict):
    parts = {part for layer in read(config).groups for part in layer.parts}
    cut = {replace(part, length=5, read_rows=most) for part in parts for most in (None, 3)}
    own = {replace(part, read_rows=8, own_block=4) for part in parts if part.growth == "grows"}
    for part in parts | cut | {one for one in own if one.length == 1}:
        attended = part.growth in ("grows", "window")
        for tokens in (1, 4, 5, 8, 9, 24, 131, 600):
            each = (part.rows_read(n, new=0) for n in range(1, tokens + 1))
            assert rows_of_prompt(part, tokens) == (sum(each) if attended else 0)


@pytest.mark.parametrize("key", MLA)
@pytest.mark.parametrize("context", [0, 1, 100, 4096, 163_840])
def test_expanding_beats_absorbing_where_the_compute_page_says(key: str, context: int):
    config, widths = PRESETS[key].config, latent_widths(MODELS[key].model())
    assert widths == (config.d_latent_kv, config.d_head + config.d_value)
    assert float(endless_crossing(*widths)) == costs.crossover_queries(config)
    assert expanding_from(*widths, context) == costs.expanding_wins(config, context)


def test_absorbing_may_never_compute_more():
    assert expanding_from(128, 256, 1000) is endless_crossing(128, 256) is None
    assert latent_widths(read(LLAMA_3_70B)) is latent_widths(read(V3_2)) is None


@pytest.mark.parametrize("config", [V3, V3_2, V4_FLASH, KIMI_K3, GLM_5_2, LLAMA_3_70B])
@pytest.mark.parametrize(("gpus", "data"), [(8, 1), (8, 4), (16, 16)])
def test_the_largest_batch_is_the_last_that_can_be_placed(config: dict, gpus: int, data: int):
    plan = Plan(
        model=read(config), storage=Storage(), parameters=70e9,
        gpus=gpus, data=data, context=1_000_000,
    )  # fmt: skip

    def fits(batch: int) -> bool:
        memory = Fraction(plan.device.memory_bytes) - plan.overhead_bytes
        on = plan.placing(batch)
        longest = on.longest_context(memory, 2 * on.rank_parameters(70e9))
        return longest is None or longest >= plan.context

    found, last = plan.largest_batch, 0
    while fits(last + 1):
        last += 1
    assert found == last


@pytest.mark.parametrize("config", [V3, V4_FLASH, KIMI_K3, LLAMA_3_70B])
def test_more_gpus_and_less_to_keep_never_serve_fewer(config: dict):
    plan = Plan(model=read(config), storage=Storage(), parameters=70e9, context=50_000)
    rising = (
        [replace(plan, gpus=n) for n in range(1, 20)],
        [replace(plan, gpus=n, data=n) for n in range(1, 20)],
        [replace(plan, gpus=4, context=n) for n in (10**6, 10**5, 10**4, 10**3)],
        [replace(plan, gpus=4, weight_bytes=n) for n in (4, 2, 1, 0.5)],
        [replace(plan, gpus=4, overhead_bytes=n) for n in (1e11, 1e10, 1e9, 0)],
        [replace(plan, gpus=4, storage=storage(n)) for n in ("fp32", "bf16", "fp4")],
    )
    for plans in rising:
        batches = [one.largest_batch for one in plans]
        assert batches == sorted(batches)
        assert batches[0] < batches[-1]
        slowest = [one.step(1).seconds for one in plans]
        assert slowest == sorted(slowest, reverse=True)


def test_larger_batches_take_longer_and_give_more():
    steps = [V3_PLAN.step(batch) for batch in range(1, 48)]
    for rates in ("seconds", "tokens_per_second", "read_bytes", "flops"):
        found = [getattr(step, rates) for step in steps]
        assert found == sorted(found)


def test_layers_that_keep_nothing_hold_any_batch():
    plan = replace(V3_PLAN, model=Model(model_type="x", layers=(), max_context=None), data=8)
    assert plan.largest_batch == 2**50


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": V3}, "model"),
        ({"storage": "fp8"}, "storage"),
        ({"parameters": 0}, "parameters"),
        ({"parameters": None}, "parameters"),
        ({"active": 0}, "active"),
        ({"active": 672e9}, r"active \(6.72e\+11\) must not be more than parameters"),
        ({"gpu": "abacus"}, "gpu"),
        ({"gpus": 0}, "gpus"),
        ({"data": 3}, "data"),
        ({"context": 0}, "context"),
        ({"prompt": 0}, "prompt"),
        ({"prompt": CONTEXT + 1}, "prompt"),
        ({"weight_bytes": float("nan")}, "weight_bytes"),
        ({"overhead_bytes": -1}, "overhead_bytes"),
        ({"overhead_bytes": float("inf")}, "overhead_bytes"),
    ],
)
def test_what_cannot_be_is_refused_by_name(change: dict, said: str):
    with pytest.raises(RefusedError, match=said):
        replace(V3_PLAN, **change)


def test_a_sequence_has_room_at_every_length_on_its_way():
    plan = replace(V3_PLAN, model=read(V4_FLASH), context=256, prompt=None)
    held = [plan.placing(1).held_bytes(tokens) for tokens in range(257)]
    assert plan.sequence_bytes >= max(held) > held[-1]
