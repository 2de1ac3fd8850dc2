"""Checkpoints in a local folder, good and bad."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file

from mla_engine.checkpoints import CheckpointError, open_checkpoint
from tests.checkpoints.conftest import SHARDS
from tests.refusals import refusing

INDEX = "model.safetensors.index.json"


def refused(folder, *words, names=None):
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(folder).read(names or [])
    for word in words:
        assert word in str(caught.value)


def rewrite_index(folder, change):
    index = json.loads((folder / INDEX).read_text())
    change(index["weight_map"])
    (folder / INDEX).write_text(json.dumps(index))


def test_reads_some_tensors_of_several_files(sharded_folder, sharded_tensors):
    checkpoint = open_checkpoint(str(sharded_folder))
    assert (checkpoint.name, checkpoint.revision) == ("model", None)
    assert checkpoint.file("tokenizer.json") == b'{"version": "1.0"}'
    assert checkpoint.file("merges.txt") is None
    tensors = sharded_tensors[0] | sharded_tensors[1]
    assert set(checkpoint.below("layers.")) == {n for n in tensors if n.startswith("layers.")}
    assert checkpoint.has("embed")
    assert not checkpoint.has("embed.weight")
    names = ["layers.3.W", "embed", "none", "eight"]
    calls = []
    found = checkpoint.read(iter(names), lambda *done: calls.append(done))
    assert list(found) == names
    library = load_file(sharded_folder / SHARDS[0]) | load_file(sharded_folder / SHARDS[1])
    for name, tensor in found.items():
        assert tensor.dtype == library[name].dtype
        assert torch.equal(tensor.float(), library[name].float())
    total = sum(library[name].nbytes for name in names)
    assert calls[-1] == (total, total) == (checkpoint.bytes_of(names),) * 2
    assert torch.equal(checkpoint.rows("embed", [2, 299, 2]), tensors["embed"][[2, 299, 2]])
    assert checkpoint.rows("embed", []).shape == (0, 32)


def test_takes_the_one_file_before_an_index(model_folder):
    save_file({"a": torch.ones(2)}, model_folder / "model.safetensors")
    checkpoint = open_checkpoint(model_folder)
    assert checkpoint.has("a")
    assert not checkpoint.has("embed")


def test_refuses_what_is_no_model(tmp_path, model_folder):
    refused(tmp_path / "none", "there is no folder")
    refused(model_folder / "config.json", "there is no folder")
    refused("", "there is no folder")
    with refusing("folder_revision", revision="main"):
        open_checkpoint(model_folder, "main")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "empty has no config.json")
    for text, words in (
        ("{", "config.json is not readable JSON"),
        ("[]", "config.json holds a JSON list"),
        ("{}" + " " * 6_000_000, "config.json (6,000,002 bytes) is larger than 6,000,000"),
    ):
        (model_folder / "config.json").write_text(text)
        refused(model_folder, words)


def test_never_opens_a_pickle(model_folder):
    for path in model_folder.glob("model*"):
        path.unlink()
    refused(model_folder, "has neither model.safetensors nor model.safetensors.index.json")
    (model_folder / "pytorch_model.bin").mkdir()  # so that opening it would fail otherwise
    (model_folder / "weights.pt").write_bytes(b"\x80\x04cposix\nsystem\n")
    refused(model_folder, "pickle (weights.pt)", "never opened here: convert it to safetensors")
    (model_folder / INDEX).write_text('{"weight_map": {"a": "weights.pt"}}')
    refused(model_folder, "names 'weights.pt', which is not a safetensors file")


def test_refuses_missing_and_doubled_tensors(model_folder, sharded_tensors):
    refused(model_folder, "model has no tensor a, b, c, d and 1 more", names="abcde")
    first, second = sharded_tensors
    save_file(second | {"layers.1.W": first["layers.1.W"]}, model_folder / SHARDS[1])
    names = ["embed", "layers.1.W"]
    refused(model_folder, f"layers.1.W stands twice, in {' and '.join(SHARDS)}", names=names)
    rewrite_index(model_folder, lambda files: files.update({"half": SHARDS[0]}))
    refused(model_folder, f"half is in {SHARDS[0]}, but it is not there", names=["half"])
    rewrite_index(model_folder, lambda files: files.update({"half": "gone.safetensors"}))
    refused(model_folder, "gone.safetensors is missing in", names=["half"])
    (model_folder / INDEX).write_text('{"weight_map": {"a": "b.safetensors", "a": "c"}}')
    refused(model_folder, "the key 'a' stands twice")
    (model_folder / INDEX).write_text('{"weight_map": ["a"]}')
    refused(model_folder, "has no object weight_map")


@pytest.mark.parametrize(
    "file",
    ["../x.safetensors", "/etc/x.safetensors", "a/../../x.safetensors", "..\\x.safetensors",
     "C:x.safetensors", "", "a\0.safetensors", "./x.safetensors", 5, ["x.safetensors"]],
    ids=str,
)  # fmt: skip
def test_refuses_a_name_that_leaves_the_folder(model_folder, file):
    rewrite_index(model_folder, lambda files: files.update(half=file))
    refused(model_folder, "leads out of" if isinstance(file, str) else "not a safetensors file")


def test_refuses_names_that_the_system_does(model_folder):
    rewrite_index(model_folder, lambda files: files.update(half="x" * 5000 + ".safetensors"))
    refused(model_folder, "xxx is missing in", names=["half"])
    (model_folder / "config.json").unlink()
    (model_folder / "config.json").symlink_to("config.json")
    refused(model_folder, "'config.json' leads nowhere")


def test_gives_no_file_from_outside(sharded_folder):
    with refusing("file_leads_out"):
        open_checkpoint(sharded_folder).file("../config.json")


def test_refuses_a_link_out_of_the_folder_except_the_clients_own(model_folder, tmp_path):
    shard = model_folder / SHARDS[0]
    outside = shard.rename(tmp_path / "outside.safetensors")
    shard.symlink_to(outside)
    refused(model_folder, f"'{SHARDS[0]}' leads out of the folder", names=["layers.0.W"])
    blobs = tmp_path / "models--a--b" / "blobs"
    blobs.mkdir(parents=True)
    snapshot = tmp_path / "models--a--b" / "snapshots" / "0123"
    snapshot.parent.mkdir()
    model_folder.rename(snapshot)
    (snapshot / SHARDS[0]).unlink()
    os.link(outside, blobs / "77aa")
    (snapshot / SHARDS[0]).symlink_to("../../blobs/77aa")
    assert open_checkpoint(snapshot).read(["layers.0.W"])["layers.0.W"].shape == (48, 40)


def test_a_file_that_is_cut_off_is_refused(model_folder):
    shard = model_folder / SHARDS[1]
    data = shard.read_bytes()
    shard.write_bytes(data[:-1])
    refused(model_folder, f"of a file of {len(data) - 1}", names=["embed"])
    for keep in (0, 7):
        shard.write_bytes(data[:keep])
        refused(model_folder, f"({keep} bytes) is too short", names=["embed"])
    shard.write_bytes(b"<html>" + data)
    refused(model_folder, "is a web page", names=["embed"])
    shard.write_bytes(data)
    checkpoint = open_checkpoint(model_folder)
    entry = checkpoint.entries(["embed"])["embed"]
    shard.write_bytes(data[: entry.stop - 1])
    with pytest.raises(CheckpointError, match=f"ends before byte {entry.stop}"):
        checkpoint.read(["embed"])
    shard.unlink()
    with pytest.raises(CheckpointError, match="No such file"):
        checkpoint.read(["embed"])
