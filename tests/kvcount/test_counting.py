"""Counts by hand: numbers per token, rows, types of storage, and what is read."""

from fractions import Fraction

import pytest
import torch

from kvcount import (
    MODELS,
    Layer,
    Model,
    Part,
    Placing,
    Storage,
    by_kind,
    bytes_per_token,
    held_bytes,
    read,
    read_bytes,
    storage,
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
from mla_engine import DeltaCache, DeltaConfig

BF16 = Storage()


def bytes_of(config: dict, kv: str = "bf16") -> Fraction:
    return sum(bytes_per_token(layer, storage(kv)) for layer in read(config).layers)


def test_a_row_of_fp8_has_656_bytes_in_v3_2_and_584_in_v4():
    (layer, *_) = read(V3_2).layers
    latent, rope, index = layer.parts
    fp8 = storage("fp8")
    assert sum(fp8.row_bytes("indexed", part) for part in (latent, rope)) == 512 + 16 + 128
    assert fp8.row_bytes("indexed", index) == 128 + 4
    csa = next(layer for layer in read(V4_FLASH).layers if layer.kind == "csa")
    pooled = [part for part in csa.parts if part.name in ("entry", "rope") and part.length == 4]
    assert sum(fp8.row_bytes("csa", part) for part in pooled) == 448 + 8 + 128


def test_fp8_without_an_indexer_has_no_scales_in_the_cache():
    assert bytes_of(V3, "fp8") == 61 * 576


def test_each_part_may_have_a_type_of_its_own():
    assert bytes_of(V3_2, "latent=fp8,rope=bf16,index=fp4") == 61 * (512 + 128 + 64)
    assert bytes_of(V3_2, "fp8,index=mxfp4") == 61 * (656 + 64 + 4)


@pytest.mark.parametrize("kv", ["int3", "", "fp8,bf16", "latent=fp64", "query=fp8", "latent", "="])
def test_a_type_that_no_cache_has_is_refused(kv: str):
    with pytest.raises(RefusedError, match="kv"):
        storage(kv)


@pytest.mark.parametrize(("listed", "good"), [(60, False), (61, True), (62, True), (63, False)])
def test_a_list_names_every_layer_and_beyond_them_those_of_mtp(listed: int, good: bool):
    config = V3_2 | {"layer_types": ["indexed_attention"] * listed}
    if good:
        assert len(read(config).layers) == 61
        return
    with pytest.raises(RefusedError, match=f"layer_types has {listed} entries for 61 layers"):
        read(config)


def test_stored_and_read_are_two_numbers():
    (layer, *_) = read(V3_2).layers
    context = 100_000
    assert held_bytes(layer, BF16, context) == 2 * context * 704
    assert read_bytes(layer, BF16, context) == 2 * (2048 * 576 + context * 128)
    assert read_bytes(layer, BF16, 1000) == held_bytes(layer, BF16, 1000)


def test_v4_reads_its_window_the_chosen_entries_and_all_index_keys():
    csa = next(layer for layer in read(V4_FLASH).layers if layer.kind == "csa")
    read_numbers = 128 * 512 + 512 * 512 + 25_000 * 128
    assert read_bytes(csa, BF16, 100_000) == 2 * read_numbers
    hca = next(layer for layer in read(V4_FLASH).layers if layer.kind == "hca")
    assert read_bytes(hca, BF16, 128_000) == 2 * (128 * 512 + 1000 * 512)


def test_a_layer_that_shares_reads_what_it_does_not_store():
    parts = (Part(name="key", numbers=8, stored=False),)
    layer = Layer("shared", parts)
    assert held_bytes(layer, BF16, 10) == 0
    assert read_bytes(layer, BF16, 10) == 160


@pytest.mark.parametrize(
    ("growth", "rows", "most"),
    [
        ("grows", [0, 0, 0, 0, 1, 1, 1, 1, 2], [0, 0, 0, 0, 1, 1, 1, 1, 2]),
        ("window", [0, 1, 2, 3, 4, 4, 4, 4, 4], [0, 1, 2, 3, 4, 4, 4, 4, 4]),
        ("buffer", [0, 1, 2, 3, 0, 1, 2, 3, 0], [0, 1, 2, 3, 3, 3, 3, 3, 3]),
        ("once", [0, 0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1, 1]),
    ],
)
def test_rows_of_every_growth(growth: str, rows: list[int], most: list[int]):
    part = Part(name="key", numbers=1, growth=growth, length=4)
    assert [part.rows(context) for context in range(9)] == rows
    assert [part.most_rows(context) for context in range(9)] == most


@pytest.mark.parametrize(("gpus", "heads"), [(1, 8), (2, 4), (3, 3), (8, 1), (16, 1)])
def test_heads_are_split_down_to_one_a_gpu(gpus: int, heads: int):
    placing = Placing(model=read(LLAMA_3_70B), storage=BF16, gpus=gpus)
    assert placing.token_bytes() == 80 * 2 * heads * 128 * 2


def test_a_latent_is_copied_and_sequences_are_dealt_out():
    sizes = {"model": read(V3), "storage": BF16, "gpus": 8, "batch": 20}
    assert Placing(**sizes).held_bytes(100) == 20 * 100 * 61 * 576 * 2
    assert Placing(**sizes, data=8).held_bytes(100) == 3 * 100 * 61 * 576 * 2
    assert Placing(**sizes, data=4).sequences == 5


@pytest.mark.parametrize("config", [V3, V3_2, V4_FLASH, KIMI_K3, GLM_5_2])
@pytest.mark.parametrize("room", [1e8, 141e9])
def test_the_longest_context_fits_and_one_token_more_does_not(config: dict, room: float):
    model = read(config)
    longest = Placing(model=model, storage=BF16, batch=1).longest_context(room)
    most = [sum(_most(layer, n) for layer in model.layers) for n in (longest, longest + 128)]
    assert longest == 0 or most[0] <= room  # a state is there before the first token
    assert room < most[1]


def _most(layer: Layer, context: int) -> Fraction:
    return sum(p.most_rows(context) * BF16.row_bytes(layer.kind, p) for p in layer.parts)


def test_weights_take_their_share_of_each_gpu():
    sizes = {"model": MODELS["deepseek-v3"].model(), "storage": BF16, "gpus": 8}
    attention = sizes["model"].attention_parameters
    assert attention > 10**10
    for data in (1, 2, 8):
        on = Placing(**sizes, data=data)
        share = on.rank_parameters(671e9)
        assert share == attention * data / 8 + (671 * 10**9 - attention) / 8
        assert on.longest_context(141e9, share) == (141 * 10**9 - share) // (61 * 576 * 2)
        assert on.longest_context(80e9, share) == 0


def test_states_alone_have_no_longest_context():
    state = Part(name="state", numbers=10, growth="once", length=1)
    model = Model(model_type="mamba", layers=(Layer("mamba", (state,)),), max_context=None)
    assert Placing(model=model, storage=BF16).longest_context(1e9) is None
    assert Placing(model=model, storage=BF16).longest_context(39) == 0


def test_parts_that_do_not_grow_are_told_apart():
    (_, csa, hca) = by_kind(read(V4_FLASH), BF16, 10**6)
    assert hca.window_bytes == 20 * 2 * (128 * 512 + 127 * 2 * 512)
    assert csa.window_bytes == 21 * 2 * (128 * 512 + 3 * 2 * 2 * 640)
    assert csa.state_bytes == 21 * 2 * (4 * 2 * 640)
    (kda, _) = by_kind(read(KIMI_K3), BF16, 10**6)
    assert kda.state_bytes == 69 * (96 * 128**2 * 4 + 3 * 96 * 128 * 3 * 2)
    config = DeltaConfig(d_model=7168, n_heads=96, d_head=128)
    assert kda.state_bytes == 69 * DeltaCache.empty(config, dtype=torch.bfloat16).nbytes
