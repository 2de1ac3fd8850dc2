"""Caches over pipelines and dealt tokens: against vLLM's own cases, and dealing one by one.

An explicit dealing gives every token and every layer to a rank in turn and adds up what each holds.
Nothing of it asks how many that must be.
"""

import re
from fractions import Fraction

import pytest

from kvcount import MODELS, Model, Placing, Plan, Storage, read, storage
from kvcount.context_parallel import exchanged_bytes
from kvcount.planning.pipeline import dealt, parted, stages
from kvcount.refusals import RefusedError
from kvcount.tests.published import GLM_5_2, KIMI_K3, LLAMA_3_70B, V3, V3_2, V4_FLASH
from tests.kvcount.test_whole import SIZES, built
from tests.refusals import refusing
from tests.sampling import some

BF16 = Storage()
GIB = 2**30
ONE_HEAD = {  # Qwen3-0.6B with one KV head, as dphnAI/sonar's pull request 1521 ran it
    "model_type": "qwen3", "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 1, "head_dim": 128, "hidden_size": 1024,
}  # fmt: skip
ALONE = [key for key in SIZES if key != "gemma-3n-e4b"]  # whose layers read no other's rows


@pytest.mark.parametrize(
    ("layers", "n", "ends"),
    [
        (2, 2, [1, 2]), (3, 2, [2, 3]), (3, 3, [1, 2, 3]),
        (4, 3, [1, 3, 4]), (5, 3, [2, 4, 5]),
    ],
)  # fmt: skip
def test_layers_are_dealt_out_as_in_vllm_s_test_of_its_partition(layers: int, n: int, ends: list):
    counts = dealt(layers, n)
    assert [sum(counts[: stage + 1]) for stage in range(n)] == ends


def test_tokens_that_an_engine_had_room_for_with_and_without_dealing():
    alone = Placing(model=read(ONE_HEAD), storage=BF16, gpus=2)
    shared = Placing(model=read(ONE_HEAD), storage=BF16, gpus=2, context_ranks=2)
    assert 949_296 * alone.token_bytes() / GIB == pytest.approx(12.67, abs=0.01)
    assert 1_896_256 * shared.token_bytes() / GIB == pytest.approx(12.66, abs=0.01)


@pytest.mark.parametrize(
    ("config", "heads", "ranks", "shares"),
    [(V3, 1, 8, 8), (V3, 1, 8, 2), (V3_2, 1, 8, 4), (LLAMA_3_70B, 8, 32, 4), (KIMI_K3, 1, 16, 16)],
)
@pytest.mark.parametrize("context", [1, 7, 1001])
def test_each_rank_holds_the_tokens_that_are_dealt_to_it(
    config: dict, heads: int, ranks: int, shares: int, context: int
):
    model, held = read(config), [Fraction(0)] * shares
    for layer, n in model.groups.items():
        for part in layer.parts:
            row = n * Fraction(2 * part.numbers, part.heads) * -(-part.heads // ranks)
            if part.name in ("state", "conv"):
                row *= 2 if part.name == "state" else 1  # float32, and whole on each
                held = [one + row for one in held]
                continue
            for token in range(context):
                held[token % shares] += row
    on = Placing(model=model, storage=BF16, gpus=ranks, context_ranks=shares)
    assert on.held_bytes(context) == max(held)
    assert on.mean_read_bytes(context) <= max(held)
    if shares == ranks // heads and model.model_type != "kimi_linear":  # no copy is left
        whole = Placing(model=model, storage=BF16).held_bytes(shares * context)
        many = Placing(model=model, storage=BF16, gpus=ranks, context_ranks=shares)
        assert ranks * many.held_bytes(shares * context) == whole


def test_what_is_exchanged_is_queries_outputs_and_their_sums():
    query, output = 128 * 576 * 2, 128 * 512 * 2  # of all heads of a layer, in bf16
    sums = 128 * 4
    whole = 61 * Fraction(7 * (query + output) + 7 * 8 * sums, 8)  # of 8 GPUs, 7 others' shares
    assert exchanged_bytes(read(V3), 8, 8) == whole
    assert exchanged_bytes(read(V3), 8, 1) == 0


@pytest.mark.parametrize(
    ("config", "gpus", "shares", "said"),
    [
        (V3, 8, 3, r"\(3\) must divide the 8 GPUs per group, .* try 1, 2, 4, 8"),
        (LLAMA_3_70B, 8, 2, "8 GPUs per group hold 8 KV heads, so at most 1"),
        (LLAMA_3_70B, 16, 4, "16 GPUs per group hold 8 KV heads, so at most 2"),
        (LLAMA_3_70B | {"num_attention_heads": 56, "head_dim": 128}, 16, 2, "7 query heads"),
        (V4_FLASH, 8, 2, "window"),
        (V3, 8, 0, "context_ranks"),
    ],
)
def test_a_dealing_that_engines_refuse_is_refused(config: dict, gpus: int, shares: int, said: str):
    with pytest.raises(RefusedError, match=said):
        Placing(model=read(config), storage=BF16, gpus=gpus, context_ranks=shares)


@pytest.mark.parametrize("key", some(ALONE, 8))
def test_the_fullest_stage_holds_what_the_library_builds_for_its_layers(key: str):
    one, model = MODELS[key], built(key)
    each: dict[int, int] = {}
    for name, weight in model.named_parameters():
        if found := re.search(r"\.(?:layers|h|blocks)\.(\d+)\.", name):
            each[int(found[1])] = each.get(int(found[1]), 0) + weight.numel()
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    assert (one.model().table, one.model().tied) == (table.numel(), head is table)
    whole, active = Fraction(one.parameters), Fraction(one.active or one.parameters)
    for n in (2, 4):
        held, first = [], 0
        for place, count in enumerate(dealt(len(each), n)):
            held.append(sum(each[layer] for layer in range(first, first + count)))
            held[-1] += table.numel() * ((place == 0) + (place == n - 1))
            first += count
        found = stages(one.model(), n, whole, active, Fraction(one.routed or 0))
        most = float(max(stage.parameters for stage in found))
        assert most == pytest.approx(max(held), rel=0.02)
        copy = one.model().table if one.model().tied else 0
        assert sum(stage.parameters for stage in found) == whole + copy
        assert sum(stage.active for stage in found) == pytest.approx(active)


@pytest.mark.parametrize("config", [V3, KIMI_K3, V4_FLASH, LLAMA_3_70B])
def test_stages_keep_all_layers_once_and_in_order(config: dict):
    model = read(config)
    for n in (1, 3, 7):
        found = parted(model, n)
        assert tuple(layer for one in found for layer in one.layers) == model.layers
        assert [len(one.layers) for one in found] == dealt(len(model.layers), n)
    with pytest.raises(RefusedError, match=rf"more than the {len(model.layers)} layers"):
        parted(model, len(model.layers) + 1)


def test_a_pipeline_fits_what_its_fullest_stage_does():
    one = MODELS["deepseek-v3"]
    plan = Plan(
        model=one.model(), storage=storage("fp8"), parameters=one.parameters, active=one.active,
        routed_parameters=one.routed, gpus=16, pipeline=2, context=32_768, weight_bytes=1,
    )  # fmt: skip
    memory = 143_771 * 2**20 - 2 * 2**30
    fitting = [
        int((memory - held.rank_weight_bytes) // (layers * 576 * 32_768))
        for held, layers in zip(plan.stages, (31, 30), strict=True)
    ]
    assert plan.largest_batch == min(fitting)
    with refusing("multiple", name="gpus", value=16, of_name="pipeline", of=3):
        Plan(model=one.model(), storage=BF16, parameters=1e9, gpus=16, pipeline=3)
    with pytest.raises(RefusedError, match="part layers"):
        parted(MODELS["gemma-3n-e4b"].model(), 2)


MTP = {  # numbers that a token adds in one more layer, and of how many such layers
    "deepseek-v3": (576, 1), "deepseek-v3.2": (576 + 128, 1), "glm-5.2": (576 + 128, 1),
    "glm-4.5": (2 * 8 * 128, 1), "mimo-7b": (2 * 8 * 128, 1), "minimax-m2.5": (2 * 8 * 128, 3),
    "qwen3-next-80b-a3b": (2 * 2 * 256, 1), "qwen3.5-397b-a17b": (2 * 2 * 256, 1),
    "deepseek-v4-flash": (0, 1),
}  # fmt: skip


@pytest.mark.parametrize("key", MTP)
def test_mtp_layers_keep_what_one_more_layer_does(key: str):
    model, (numbers, n) = MODELS[key].model(), MTP[key]
    assert len(model.mtp) == n
    alone, more = (Placing(model=one, storage=BF16) for one in (model, model.drafting))
    assert more.token_bytes() - alone.token_bytes() == 2 * n * numbers
    assert parted(model, 2)[0].mtp == ()
    assert parted(model, 2)[1].mtp == model.mtp


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (read(LLAMA_3_70B), "llama has no MTP layers"),
        (MODELS["kimi-k2.5"].model(), "kimi_k2 has no MTP layers"),
        (MODELS["glm-5.3-flash"].model(), "of which kind the MTP layers of glm5_next_text are"),
    ],
)
def test_a_model_without_known_mtp_layers_is_refused(model: Model, said: str):
    with pytest.raises(RefusedError, match=said):
        Plan(model=model, storage=BF16, parameters=70e9, mtp=True)


def test_mtp_changes_what_is_held_and_not_what_a_step_reads():
    sizes = {"storage": BF16, "parameters": 671e9, "active": 37e9, "gpus": 8, "context": 4096}
    without, held = (Plan(model=MODELS["deepseek-v3"].model(), mtp=on, **sizes)
                     for on in (False, True))  # fmt: skip
    assert held.sequence_bytes - without.sequence_bytes == 576 * 2 * 4096
    assert held.step(1) == without.step(1)
    assert read(GLM_5_2 | {"num_nextn_predict_layers": 2}).mtp[1].kind == "indexed"
