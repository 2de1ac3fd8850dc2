"""The cost of a stranger's checkpoint is known before any of it is fetched or made."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from mla_engine import budget
from mla_engine.checkpoints import (
    Checkpoint,
    CheckpointError,
    hidden_bytes,
    hidden_states,
    load_attention,
)
from mla_engine.checkpoints.prefix import Prefix
from tests.checkpoints.reading import open_repository
from tests.refusals import refusing

TEXT = "The cat sat on the mat and looked at the moon. " * 8
LONG = TEXT * 6


@pytest.fixture
def folder(demo, tmp_path):
    return shutil.copytree(demo, tmp_path / "model")


def configure(folder, **entries):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | entries))
    return folder


def widen(folder, width):
    """The first layer's MLP made `width` wide."""
    [file] = [
        f
        for f in folder.glob("*.safetensors")
        if "model.layers.0.mlp.up_proj.weight" in load_file(f)
    ]
    weights = load_file(file)
    for name in ("gate", "up", "down"):
        shape = (256, width) if name == "down" else (width, 256)
        weights[f"model.layers.0.mlp.{name}_proj.weight"] = torch.zeros(shape, dtype=torch.bfloat16)
    save_file(weights, file)
    return configure(folder, intermediate_size=width)


def peak_of(run):
    with budget.PeakBytes() as meter:
        run()
    return meter.peak


@pytest.mark.parametrize(
    ("width", "text", "layer"), [(512, TEXT, 1), (512, TEXT, 3), (2**12, LONG, 1), (2**12, LONG, 3)]
)
def test_a_prefix_holds_no_more_than_it_is_said_to(folder, width, text, layer):
    """Dense and wide at first, then with experts; counted by torch itself."""
    said = hidden_bytes(widen(folder, width), text, layer)
    assert peak_of(lambda: hidden_states(folder, text, layer)) < said.memory_bytes - said.read_bytes


def test_every_token_sent_to_every_expert_is_counted(folder):
    configure(folder, num_experts_per_tok=4)
    said = hidden_bytes(folder, LONG, 3)
    assert peak_of(lambda: hidden_states(folder, LONG, 3)) < said.memory_bytes - said.read_bytes


def test_a_wide_mlp_counts_by_its_tokens(folder):
    widen(folder, 2**14)
    short, long = (hidden_bytes(folder, TEXT[:n], 1).memory_bytes for n in (40, 320))
    assert long - short > 50 * 3 * 2**14 * 4  # of 50 tokens more: gate, up, and their product


def test_is_refused_before_the_first_weight_is_fetched(hub, folder, tmp_path, monkeypatch):
    hub.folder = widen(folder, 2**12)
    checkpoint = open_repository("who/model", token=False, folder=tmp_path / "kept")
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    for load in (
        lambda: load_attention(checkpoint, 1),
        lambda: hidden_states(checkpoint, TEXT, 1),
        lambda: hidden_states(checkpoint, TEXT, 0),
    ):
        with pytest.raises(budget.MemoryBudgetError):
            load()
    assert hub.shard_bytes == hub.header_bytes > 0


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"num_hidden_layers": 10**12}, "at most 1,024"),
        ({"num_attention_heads": 10**9}, "n_heads"),
        ({"n_routed_experts": 10**7}, "n_routed_experts = 10,000,000"),
        ({"n_routed_experts": 10**3}, "asks for layers"),
        ({"moe_intermediate_size": 10**9}, "asks for layers"),
        ({"intermediate_size": 10**15}, None),
        ({"num_experts_per_tok": 10**9}, "num_experts_per_tok = 1,000,000,000"),
        ({"first_k_dense_replace": 10**9, "moe_layer_freq": 10**9}, "moe_layer_freq"),
        ({"num_labels": 10**9}, ""),
        ({"id2label": {"0": "a"}, "num_labels": 10**8}, ""),
        ({"n_shared_experts": 10**6}, "n_shared_experts"),
    ],
)
def test_builds_nothing_that_no_tensor_fills(folder, entries, words, monkeypatch):
    configure(folder, **entries)
    if words == "":
        assert hidden_states(folder, TEXT, 3).h.isfinite().all()
        return
    monkeypatch.setattr(Prefix, "_filled", lambda *_: pytest.fail("built"))
    with pytest.raises(CheckpointError, match=words):
        hidden_states(folder, TEXT, 3)


def test_a_layer_that_config_json_invents_is_refused(folder, monkeypatch):
    configure(folder, num_hidden_layers=1000)
    monkeypatch.setattr(Checkpoint, "read", lambda *_: pytest.fail("read"))
    with refusing("no_block"):
        hidden_states(folder, TEXT, 999)
