"""The memory of GPUs, by hand, and the formulas of others against the figures they printed."""

import re

import pytest

from kvcount import Storage
from mla_engine import costs
from mla_engine.costs import GPUS, Serving, formulas, rank_cache_elements
from mla_engine.presets import PRESETS
from tests.engine.samples import dense

V3, LLAMA = PRESETS["deepseek-v3"], PRESETS["llama-3-70b"]
STATES = PRESETS["kimi-linear-48b-a3b"].beside


@pytest.mark.parametrize(
    ("ranks", "latent", "in_full", "grouped"),
    [
        (1, 576, 40_960, 2048),
        (2, 576, 20_480, 1024),
        (3, 576, 43 * 320, 3 * 256),  # of 128 and 64 heads the fullest has 43 and 22
        (8, 576, 5120, 256),
        (64, 576, 640, 256),
    ],
)
def test_each_ranks_share_of_the_cache(ranks, latent, in_full, grouped):
    assert rank_cache_elements(V3.config, ranks) == latent
    assert rank_cache_elements(V3.config, ranks, "kv") == in_full
    assert rank_cache_elements(LLAMA.config, ranks) == grouped


def test_more_ranks_than_heads_are_refused():
    gemma = PRESETS["gemma-2b"]
    assert rank_cache_elements(gemma.config, 8) == 512
    sharing = {"model": gemma.model, "total_parameters": 2e9, "gpu_bytes": 80e9}
    with pytest.raises(ValueError, match=r"ranks \(16\) split n_heads \(8\).*try 8 or fewer"):
        Serving(**sharing, ranks=16)
    assert Serving(**sharing, ranks=16, attention="data").token_bytes == 512 * 18 * 2


def served(attention: str, **changed) -> Serving:
    given = {"total_parameters": V3.parameters, "gpu_bytes": 141e9, "ranks": 8, "weight_bytes": 1}
    return Serving(**{"model": V3.model, "attention": attention} | given | changed)


def test_deepseek_v3_on_eight_h200_by_hand():
    tensor = served("tensor")
    assert tensor.free_bytes == 141e9 - 671_026_404_352 / 8
    assert tensor.token_bytes == 576 * 61 * 2 == 70_272
    assert tensor.longest_context() == int(57_121_699_456 / 70_272) == 812_865
    assert tensor.longest_context(batch=8) == 101_608
    assert tensor.largest_batch(131_072) == 6
    assert tensor.held_bytes(131_072, 6) <= tensor.free_bytes < tensor.held_bytes(131_072, 7)


def test_data_parallel_attention_deals_out_sequences_and_repeats_weights():
    norms = V3.config.d_latent_kv + V3.config.d_latent_q  # counted are projections alone
    data, attention = served("data"), 61 * (costs.parameters(V3.config) - norms)
    assert data.rank_weight_bytes == pytest.approx(attention + (671_026_404_352 - attention) / 8)
    per_rank = int(data.free_bytes / (70_272 * 131_072))
    assert data.largest_batch(131_072) == 8 * per_rank == 40
    assert [data.rank_sequences(n) for n in (1, 8, 9)] == [1, 1, 2]
    assert data.held_bytes(1000, 9) == 2 * 70_272 * 1000


@pytest.mark.parametrize("attention", costs.ATTENTION)
@pytest.mark.parametrize("beside", [(), STATES], ids=["MLA", "and states"])
def test_the_longest_and_the_most_fit_and_one_more_does_not(attention, beside):
    model = costs.model(((V3.config, 61), *beside))
    serving = served(attention, storage=Storage("int4"), model=model)
    for batch in (1, 3, 24):
        longest = serving.longest_context(batch)
        assert serving.held_bytes(longest, batch) <= serving.free_bytes
        assert serving.held_bytes(longest + 1, batch) > serving.free_bytes
    most = serving.largest_batch(5000)
    assert serving.held_bytes(5000, most) <= serving.free_bytes
    assert serving.held_bytes(5000, most + 1) > serving.free_bytes


def test_weights_that_do_not_fit_leave_no_room():
    serving = served("tensor", gpu_bytes=80e9)
    assert serving.free_bytes < 0
    assert serving.longest_context() == serving.largest_batch(1) == 0
    assert served("data", total_parameters=0).free_bytes == 141e9


UNNAMED = {  # in 10**9, by the texts that the rows' sources name
    "deepseek-v3.1": 671, "deepseek-v3.2-exp": 671, "deepseek-v4-flash": 284,
    "deepseek-v4-pro": 1600, "kimi-k2": 1000, "kimi-k2-instruct-0905": 1000, "kimi-k3": 2800,
    "glm-4.7-flash": 30, "glm-5": 744, "glm-5.3-flash": 320, "a.x-k1": 519,
}  # fmt: skip


def test_parameters_are_near_the_count_in_the_name():
    for preset in PRESETS.values():
        counts = re.findall(r"\b(\d+)([BM])\b", preset.name)
        if counts and preset.key not in UNNAMED:
            named = int(counts[0][0]) * {"B": 10**9, "M": 10**6}[counts[0][1]]
            assert preset.parameters == pytest.approx(named, rel=0.26), preset.key  # Gemma-2B: 2.5


def test_every_gpu_s_memory_is_what_its_driver_reports():
    mib = {key: gpu.memory_bytes / 2**20 for key, gpu in GPUS.items()}
    assert mib == {
        "t4": 15_360, "l4": 23_034, "a10g": 23_028, "a100-40": 40_960, "a100-80": 81_920,
        "h100": 81_559, "h200": 143_771, "h800": 81_559, "h20": 97_871,
        "b200": 183_359, "mi300x": 201_310_208 / 1024, "rtx-4090": 24_564,
        "l40s": 46_068, "gh200": 97_871, "b300": 275_040, "rtx-3090": 24_576, "rtx-5090": 32_607,
    }  # fmt: skip
    assert all(gpu.memory_source for gpu in GPUS.values())


@pytest.mark.parametrize(
    ("key", "code", "published"),
    [
        ("deepseek-v3.1", "one_head", 2.08 / 10.72),  # the thread's own two figures
        ("glm-5", "one_head", 5.73 / 17.18),
        ("deepseek-v3.2-exp", "every_head", 25),
        ("deepseek-v3", "rope_each_head", 8704 / 576),
        ("deepseek-v3", "latent_twice", 1.78),
        ("deepseek-v3", "latent_only", 0.89),
        ("llama-3-8b", "model_width", 4),
        ("llama-3-8b", "all_query_heads", 4),
        ("qwen3-32b", "width_over_heads", 80 / 128),  # d / n_h = 80, its heads are 128 wide
    ],
)
def test_how_far_off_a_formula_is(key, code, published):
    """The threads on GLM-5 and DeepSeek-V3.2 set it against a cache without index keys."""
    config = PRESETS[key].config
    config = dense(config) if PRESETS[key].kind == "DSA" else config
    (formula,) = [f for f in formulas(config) if f.code == code]
    assert formula.off(config) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize("key", PRESETS)
def test_the_first_formula_is_the_engines(key):
    config = PRESETS[key].config
    right, *wrong = formulas(config)
    assert right.numbers(config) == costs.cache_elements(config)
    assert right.off(config) == 1
    assert all(f.source and f.written for f in wrong)


@pytest.mark.parametrize("key", ["deepseek-v3", "minicpm3-4b"])
def test_the_parts_of_a_layout_add_up(key):
    config = PRESETS[key].config
    totals = {name: sum(parts.values()) for name, parts in costs.layouts(config).items()}
    assert totals == {
        "mha": config.n_heads * (config.d_head + config.d_value),
        "full": costs.cache_elements(config, "kv"),
        "copy": costs.cache_elements(config) + config.d_latent_kv,
        "latent": costs.cache_elements(config),
    }
    with pytest.raises(ValueError, match="LatentConfig"):
        costs.layouts(LLAMA.config)


def test_every_layout_of_a_sparse_model_has_its_index_key_beside_it():
    config = PRESETS["glm-5"].config
    of_mla, own = costs.layouts(dense(config)), costs.layouts(config)
    assert own.pop("mha") == of_mla.pop("mha")
    for name, parts in own.items():
        assert parts == of_mla[name] | {"index": 128}
    assert sum(own["latent"].values()) == costs.cache_elements(config)


@pytest.mark.parametrize("tokens", [0, 3])
def test_rows_that_each_token_adds_are_those_of_the_models_own_layout(tokens):
    glm, kept = PRESETS["glm-5"].config, {"latent": 512, "rope": 64, "index": 128}
    rows = costs.kept_rows(glm, tokens, 0.5)
    assert rows == {kind: (n * tokens, n * tokens / 2) for kind, n in kept.items()}
    assert costs.kept_rows(V3.config, tokens, 2).keys() == {"latent", "rope"}
    of_heads = (8 * 128 * tokens, 2 * 8 * 128 * tokens)
    assert costs.kept_rows(LLAMA.config, tokens, 2) == {"key": of_heads, "value": of_heads}
