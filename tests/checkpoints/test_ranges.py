"""Reading by byte ranges: what it costs, and what a bad server cannot do."""

import re
import shutil
import threading
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub.utils import WeakFileLock
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, DeepseekV2Config

from mla_engine.checkpoints import (
    CheckpointError,
    describe,
    load_attention,
    open_checkpoint,
    pieces,
    ranges,
)
from mla_engine.checkpoints.spans import Span, grouped

NAMES = [f"layers.{i}.W" for i in range(6)]


def open_with_headers(names=NAMES):
    checkpoint = open_checkpoint("who/model")
    checkpoint.entries(names)
    return checkpoint


def expect_equal(found, tensors):
    for name in found:
        assert torch.equal(found[name].float(), tensors[name].float()), name


def unfinished(cache):
    return [path for path in Path(cache).rglob("*.incomplete") if "assets" in path.parts]


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
    names = [name for name in checkpoint.tensor_names() if name.startswith("model.layers.2.self_")]
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


def test_a_layer_from_the_hub_is_the_one_in_the_folder(published, hub):
    hub.folder = published
    plan = describe("who/model", 2)
    assert hub.shard_bytes == hub.header_bytes  # stated before any weight is read
    there, here = load_attention("who/model", 2), load_attention(published, 2)
    assert plan.n_bytes <= hub.shard_bytes - hub.header_bytes <= 1.05 * plan.n_bytes
    h = torch.randn(1, 5, 128, generator=torch.Generator().manual_seed(6))
    assert torch.equal(there(h).u, here(h).u)


def test_reads_again_from_the_disk(hub, sharded_tensors):
    open_checkpoint("who/model").read(NAMES)
    sent = hub.shard_bytes
    calls = []
    again = open_checkpoint("who/model").read(NAMES[2:4], lambda *done: calls.append(done))
    expect_equal(again, sharded_tensors[0])
    assert hub.shard_bytes == sent
    assert calls == [(48 * (42 + 43) * 4,) * 2]


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


@pytest.mark.parametrize(
    "faults",
    [["cut"], ["unsized"], ["429", "503"], ["cut", "503", "cut", "cut"]],
    ids=" ".join,
)
def test_takes_up_again_what_was_cut_off(hub, empty_cache, sharded_tensors, faults):
    checkpoint = open_with_headers()
    sent = hub.shard_bytes
    hub.faults = list(faults)
    calls = []
    expect_equal(checkpoint.read(NAMES, lambda *done: calls.append(done)), sharded_tensors[0])
    assert not hub.faults
    assert not unfinished(empty_cache)
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1] == checkpoint.bytes_of(NAMES) == hub.shard_bytes - sent


def test_does_not_wait_for_a_server_that_says_no_more(hub, sharded_tensors, monkeypatch):
    monkeypatch.setattr(ranges, "TIMEOUT_SECONDS", 0.25)
    checkpoint = open_with_headers()
    hub.faults = ["hangs"]  # for 8 s
    begin = time.monotonic()
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    assert time.monotonic() - begin < 4


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("ignores", "ignores byte ranges and would send the whole file"),
        ("wrong start", r"asked for bytes \d+-\d+/\d+, the server sends 'bytes \d+"),
        ("wrong total", r"asked for bytes \d+-\d+/\d+, the server sends 'bytes \d+"),
        ("no range", "the server sends ''"),
        ("short", r"asked for 48960 bytes, the server sends 24480"),
        ("longer", r"asked for 48960 bytes, the server sends 48970"),
        ("packed", r"the server sends 48960 \(gzip\)"),
        ("401", "answers 401, so it wants an access token: set HF_TOKEN"),
        ("404", "answers 404, so there is no such file"),
        ("416", "answers 416, so the file has no such bytes"),
        ("wait", "for 3600 s more; what has arrived is kept"),
    ],
)
def test_refuses_wrong_bytes_and_keeps_none(hub, empty_cache, sharded_tensors, fault, words):
    checkpoint = open_with_headers()
    hub.faults = [fault]
    with pytest.raises(CheckpointError, match=words):
        checkpoint.read(NAMES)
    assert not any(path.stat().st_size for path in unfinished(empty_cache))
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])


def test_gives_up_after_some_tries_and_keeps_what_came(hub, empty_cache, sharded_tensors):
    checkpoint = open_with_headers()
    sent = hub.shard_bytes
    hub.faults = ["cut"] * pieces.TRIES
    with pytest.raises(CheckpointError, match=r"given up after 5 tries.*try again later"):
        checkpoint.read(NAMES)
    assert not hub.faults
    assert len(unfinished(empty_cache)) == 1
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    assert hub.shard_bytes - sent == checkpoint.bytes_of(NAMES)


def test_a_stopped_read_goes_on_where_it_was(hub, empty_cache, sharded_tensors):
    class StoppedError(Exception):
        pass

    def stop(done, total):
        if done >= total / 4:
            raise StoppedError

    checkpoint = open_with_headers()
    sent, needed = hub.shard_bytes, checkpoint.bytes_of(NAMES)
    hub.faults = ["slow"]
    with pytest.raises(StoppedError):
        checkpoint.read(NAMES, stop)
    assert not [t for t in threading.enumerate() if t.name.startswith(pieces.THREADS)]
    assert needed / 4 <= hub.shard_bytes - sent <= needed * 3 / 4
    expect_equal(checkpoint.read(NAMES), sharded_tensors[0])
    assert hub.shard_bytes - sent <= needed * 5 / 4  # at most two eighths were under way
    assert not unfinished(empty_cache)


@pytest.mark.parametrize("kind", [ValueError, OSError, KeyboardInterrupt])
def test_what_the_callback_raises_comes_through(hub, kind):
    def stop(done, total):
        raise kind("enough")

    with pytest.raises(kind, match="enough"):
        open_checkpoint("who/model").read(NAMES, stop)


def test_says_when_the_cache_cannot_be_written(hub, empty_cache):
    checkpoint = open_with_headers()
    [folder] = {path.parent for path in empty_cache.rglob("0-8")}
    shutil.rmtree(folder)
    folder.write_text("a file where the folder was")
    with pytest.raises(CheckpointError, match=re.escape(str(folder))):
        checkpoint.read(NAMES)


def test_never_uses_a_damaged_piece(hub, empty_cache, sharded_tensors):
    checkpoint = open_with_headers()
    checkpoint.read(NAMES)
    held = sorted(path for path in empty_cache.rglob("*-*") if path.parent.name.endswith("tensors"))
    assert len(held) == len(NAMES) + 2  # and the two parts of the header
    for path in held[2:5]:
        path.write_bytes(path.read_bytes()[:-1])
    held[5].with_name(f"{held[5].name}.incomplete").write_bytes(held[5].read_bytes() + b"more")
    held[5].unlink()
    expect_equal(open_checkpoint("who/model").read(NAMES), sharded_tensors[0])


def test_a_reader_that_waits_for_another_can_be_stopped(hub, empty_cache):
    checkpoint = open_with_headers()
    [lock] = empty_cache.rglob(".lock")
    calls = []

    def stop(done, total):
        calls.append(done)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with WeakFileLock(lock), pytest.raises(KeyboardInterrupt):
        checkpoint.read(NAMES, stop)
    assert calls == [0, 0, 0]
    assert not unfinished(empty_cache)


def test_two_readers_at_once_get_the_same(hub, sharded_tensors):
    checkpoint = open_with_headers()
    found = []
    readers = [
        threading.Thread(target=lambda: found.append(checkpoint.read(NAMES))) for _ in range(4)
    ]
    sent = hub.shard_bytes
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(found) == 4
    for tensors in found:
        expect_equal(tensors, sharded_tensors[0])
    assert hub.shard_bytes - sent == checkpoint.bytes_of(NAMES)
