"""Reading by byte ranges: what it costs."""

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, DeepseekV2Config

from kvcount.files.folder import Span
from kvcount.files.pieces import grouped
from mla_engine.checkpoints import CheckpointError, open_checkpoint
from tests.checkpoints.reading import expect_equal, open_with_headers


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A random DeepSeek-V2 in several shards, as transformers writes it."""
    folder = tmp_path_factory.mktemp("published")
    config = DeepseekV2Config(
        vocab_size=512, hidden_size=128, intermediate_size=256, moe_intermediate_size=64,
        num_hidden_layers=4, num_attention_heads=4, n_routed_experts=4, num_experts_per_tok=2,
        q_lora_rank=None, kv_lora_rank=64, qk_nope_head_dim=32, qk_rope_head_dim=16,
        v_head_dim=32, first_k_dense_replace=1, n_group=1, topk_group=1,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(folder, max_shard_size="400KB")
    return folder


def test_reads_hardly_more_than_one_layer_of_a_sharded_model(published, hub):
    assert len(list(published.glob("*.safetensors"))) > 3
    hub.folder = published
    checkpoint = open_checkpoint("who/model")
    names = checkpoint.below("model.layers.2.self_")
    calls = []
    found = checkpoint.read(names, lambda *done: calls.append(done))
    expect_equal(found, open_checkpoint(published).read(names))
    needed = sum(tensor.nbytes for tensor in found.values())
    assert needed == checkpoint.bytes_of(names) > 100_000
    assert hub.shard_bytes - hub.header_bytes <= 1.05 * needed
    files = {entry.file for entry in checkpoint.entries(names).values()}
    lengths = [int.from_bytes((published / file).read_bytes()[:8], "little") for file in files]
    assert hub.header_bytes == sum(lengths) + 8 * len(files)
    assert calls == sorted(calls)
    assert calls[-1] == (needed, needed)
    assert not any(asked is None for how, path, asked in hub.asked if path.endswith("tensors"))


def test_rows_cost_their_own_bytes(hub, sharded_tensors):
    checkpoint = open_with_headers(["embed"])
    sent, asked = hub.shard_bytes, len(hub.asked)
    rows = [7, 250, 8, 9, 7]
    assert torch.equal(checkpoint.rows("embed", rows), sharded_tensors[1]["embed"][rows])
    assert hub.shard_bytes - sent == 4 * 32 * 2
    assert len(hub.asked) - asked == 2  # 7 to 9 in one, 250
    for wrong in (-1, 300):
        with pytest.raises(CheckpointError, match=f"rows 0 to 299, so no row {wrong}"):
            checkpoint.rows("embed", [0, wrong])
    with pytest.raises(CheckpointError, match=r"double has the shape \(9,\)"):
        checkpoint.rows("double", [0])


def test_neighbours_go_together_while_gaps_are_small():
    def spans(*bounds):
        return [Span("a", *pair) for pair in bounds]

    assert grouped(spans((20, 30), (0, 20), (30, 31))) == [spans((0, 20), (20, 30), (30, 31))]
    assert grouped(spans((0, 320), (330, 650))) == [spans((0, 320), (330, 650))]
    assert len(grouped(spans((0, 320), (341, 661)))) == 2  # 21 of 640 bytes are above 1/32
    assert len(grouped(spans((0, 10**7), (10**7 + 2**16 + 1, 2 * 10**7)))) == 2
    assert grouped([Span("b", 10, 20), Span("a", 0, 10)]) == [
        [Span("a", 0, 10)],
        [Span("b", 10, 20)],
    ]


def test_a_small_gap_is_read_over_and_dropped(hub, model_folder, empty_cache):
    draw = torch.Generator().manual_seed(5)
    sizes = {"a": 4000, "b": 100, "c": 4000, "d": 4000, "e": 100}
    tensors = {name: torch.randn(size, generator=draw) for name, size in sizes.items()}
    hub.folder = model_folder
    save_file(tensors, model_folder / "model.safetensors")
    checkpoint = open_with_headers("a")
    sent, asked = hub.shard_bytes, len(hub.asked)
    expect_equal(checkpoint.read("ac"), tensors)
    assert hub.shard_bytes - sent == 4 * (4000 + 100 + 4000)
    assert len(hub.asked) - asked == 1
    expect_equal(checkpoint.read("be"), tensors)
    assert len(hub.asked) - asked == 3
