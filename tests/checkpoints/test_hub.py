"""The Hub's own client against a Hub on this machine."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest
import torch

from kvcount.files.safetensors_header import INDEX
from mla_engine.checkpoints import CheckpointError, open_checkpoint
from tests.checkpoints.conftest import SHARDS
from tests.checkpoints.serving import COMMIT, Handler, serving
from tests.refusals import refusing


def refused(*words, source="who/model", revision=None):
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(source, revision)
    for word in words:
        assert word in str(caught.value)


def test_reads_config_tokenizer_and_tensors_at_a_commit(hub, sharded_tensors):
    checkpoint = open_checkpoint("who/model")
    assert (checkpoint.name, checkpoint.revision) == ("who/model", COMMIT)
    assert checkpoint.config == {"model_type": "deepseek_v2"}
    assert checkpoint.file("tokenizer.json") == b'{"version": "1.0"}'
    assert checkpoint.file("tokenizer.model") is None
    tensors = sharded_tensors[0] | sharded_tensors[1]
    found = checkpoint.read(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype, name
        assert torch.equal(found[name].double(), tensor.double()), name
    wanted = [299, 0, 7, 8, 7]
    assert torch.equal(checkpoint.rows("embed", wanted), tensors["embed"][wanted])


def test_refuses_what_is_not_there_or_not_granted(hub):
    refused("who/missing", "no such repository", source="who/missing")
    refused("who/model", "v9", "no such revision", revision="v9")
    refused("who/gated", "access has to be granted", "HF_TOKEN", source="who/gated")
    refused("no folder 'a/b/c'", "owner/name", source="a/b/c")
    refused("no folder 'gpt2'", "owner/name", source="gpt2")
    refused("'../../x'", "not a branch, tag or commit", revision="../../x")


def test_refuses_a_repository_without_safetensors(model_folder, empty_cache, monkeypatch):
    for path in model_folder.glob("model*"):
        path.unlink()
    with serving(model_folder) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        refused("neither model.safetensors", "config.json, tokenizer.json")
        (model_folder / "pytorch_model.bin").write_bytes(b"\x80\x04cposix\nsystem\n")
        refused("pickle (pytorch_model.bin)", "convert it to safetensors")
        assert not any(path.endswith(".bin") for _, path, _ in hub.asked)
        (model_folder / "config.json").unlink()
        refused("who/model has no config.json")


def test_reads_from_the_cache_without_a_network(hub, monkeypatch, sharded_tensors):
    names = list(sharded_tensors[0])
    checkpoint = open_checkpoint("who/model")
    checkpoint.read(names[:2])
    checkpoint.rows("embed", [5, 9])
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.asked)
    again = open_checkpoint("who/model")
    assert again.revision == COMMIT
    assert torch.equal(again.read(names[:2])[names[1]], sharded_tensors[0][names[1]])
    assert torch.equal(again.rows("embed", [9]), sharded_tensors[1]["embed"][[9]])
    with pytest.raises(CheckpointError, match="the cache does not hold what is needed"):
        again.read(names)
    with pytest.raises(CheckpointError, match="cache does not hold what is needed"):
        again.file("tokenizer.json")
    assert len(hub.asked) == asked
    refused("HF_HUB_OFFLINE", source="who/other")


def test_a_hub_that_is_away_or_busy_leaves_the_cache(hub, monkeypatch):
    open_checkpoint("who/model")
    for status in (503, 429):
        hub.down, asked = status, len(hub.asked)
        assert open_checkpoint("who/model").revision == COMMIT
        assert len(hub.asked) == asked + 1
        refused(f"answers {status}", source="who/other")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    checkpoint = open_checkpoint("who/model")
    assert checkpoint.revision == COMMIT
    with refusing("not_held"):
        checkpoint.read(["embed"])
    refused("cannot be reached", source="who/other")


def test_a_network_that_is_switched_off_later_is_named(hub, monkeypatch):
    checkpoint = open_checkpoint("who/model")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with refusing("offline"):
        checkpoint.read(["embed"])


def test_a_model_that_another_program_fetched_is_read_offline(hub, monkeypatch, sharded_tensors):
    for file in ("config.json", INDEX, SHARDS[1]):
        huggingface_hub.hf_hub_download("who/model", file, endpoint=hub.address)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    found = open_checkpoint("who/model").read(["double"])
    assert torch.equal(found["double"], sharded_tensors[1]["double"])
    with pytest.raises(CheckpointError, match=f"{SHARDS[0]}: the Hub cannot be reached"):
        open_checkpoint("who/model").read(["layers.0.W"])
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    assert "tokenizer.json" in open_checkpoint("who/model").names()


def test_something_else_than_a_hub_is_named(hub, empty_cache, monkeypatch):
    climbing = b'{"id": "who/model", "sha": "../../x", "siblings": []}'
    unsized = climbing.replace(b"../../x", b"0" * 40)
    sizes = [
        unsized.replace(b"[]", b'[{"rfilename": "a", "size": %b}]' % n) for n in (b'"1"', b"-5")
    ]
    for body in (b"<html>", b"[1]", b"{}", climbing, b"\xff", b"[" * 50_000, *sizes):
        monkeypatch.setattr(Handler, "listing", lambda self, body=body: self.answer(200, body))
        refused(f"{hub.address} does not answer as the Hub does")
    hub.down = 400
    refused("the Hub answers 400, which is not understood")
    monkeypatch.setenv("HF_ENDPOINT", "nowhere")
    refused("who/model at revision main of nowhere: the Hub cannot be reached")
    assert not list(empty_cache.rglob("config.json"))


def test_says_when_the_cache_cannot_be_made(hub, empty_cache):
    empty_cache.write_text("a file where a folder should be")
    refused("who/model", "the disk of this machine says: Not a directory")


def test_sends_the_token_to_the_hub_and_not_to_the_store(hub, model_folder, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_abc")
    with serving(model_folder) as store:
        hub.store = store.address.replace("127.0.0.1", "localhost")
        open_checkpoint("who/model").read(["double"])
    assert {token for _, token in hub.tokens} == {"Bearer hf_abc"}
    assert store.shard_bytes > 0
    assert {token for _, token in store.tokens} == {None}


def test_uses_a_shard_that_the_client_has_fetched_whole(hub, sharded_tensors):
    first, second = sharded_tensors
    open_checkpoint("who/model")
    config = huggingface_hub.try_to_load_from_cache("who/model", "config.json", revision=COMMIT)
    shutil.copy(hub.folder / SHARDS[0], Path(config).parent)
    hub.asked.clear()
    found = open_checkpoint("who/model").read(["double", "layers.0.W"])
    assert torch.equal(found["double"], second["double"])
    assert torch.equal(found["layers.0.W"], first["layers.0.W"])
    assert {path.rpartition("/")[2] for _, path, asked in hub.asked if asked} == {SHARDS[1]}


def test_names_a_shard_that_the_index_invents(hub, model_folder):
    hub.folder = model_folder
    (model_folder / SHARDS[0]).unlink()
    with pytest.raises(CheckpointError, match=f"{SHARDS[0]}: it is missing in who/model"):
        open_checkpoint("who/model").read(["layers.0.W"])


def test_an_absurdly_large_config_is_not_fetched(hub, model_folder):
    hub.folder = model_folder
    (model_folder / "config.json").write_bytes(b"{}" + b" " * 6_000_000)
    refused("config.json (6,000,002 bytes) is larger than 6,000,000")
    assert not any(path.endswith("config.json") for _, path, _ in hub.asked)
