"""The demonstration checkpoint: read by the engine and by transformers, and marked as random."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mla_engine.checkpoints import (
    build_demo,
    describe,
    hidden_bytes,
    hidden_states,
    load_attention,
    open_checkpoint,
)
from mla_engine.checkpoints.demo import SENTENCES
from mla_engine.studies.logit_shares import logit_shares
from tests.checkpoints.models import seen_by
from tests.engine.samples import refused, relative

TEXT = "The cat sat on the mat. 月亮照着海上的船。"


@pytest.fixture(scope="module")
def theirs(demo):
    """Their model in float32, and what each attention reads, gives and attends to."""
    model = AutoModelForCausalLM.from_pretrained(
        demo, dtype=torch.float32, attn_implementation="eager"
    )
    ids = AutoTokenizer.from_pretrained(demo)(TEXT, return_tensors="pt").input_ids
    attentions = [layer.self_attn for layer in model.model.layers]
    return ids[0].tolist(), seen_by(attentions, lambda: model(ids))


@pytest.mark.parametrize("layer", [0, 2])
def test_reads_and_attends_as_in_transformers(demo, theirs, layer):
    ids, seen = theirs
    found = hidden_states(demo, TEXT, layer)
    h, u, attention, *_ = seen[layer]
    assert list(found.ids) == ids
    assert relative(found.h, h) < 1e-6
    trace = load_attention(demo, layer)(found.h)
    assert relative(trace.u, u) < 1e-5
    assert relative(trace.attention, attention) < 1e-5


@pytest.mark.parametrize("layer", [0, 1])
def test_reads_from_the_hub_what_it_says(demo, hub, layer):
    hub.folder = demo
    needed = hidden_bytes("who/model", TEXT, layer)
    assert hub.shard_bytes == hub.header_bytes  # no weight is read to say so
    there, here = (hidden_states(source, TEXT, layer) for source in ("who/model", demo))
    assert torch.equal(there.h, here.h)
    assert there.tokens == here.tokens
    assert 0 < hub.shard_bytes - hub.header_bytes <= 1.05 * needed.read_bytes


def test_has_the_format_of_a_published_model_and_says_that_it_is_random(demo):
    config = json.loads((demo / "config.json").read_text())
    assert config["rope_scaling"]["type"] == "yarn"
    assert "rope_parameters" not in config
    index = json.loads((demo / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == {p.name for p in demo.glob("*.safetensors")}
    assert len(set(index["weight_map"].values())) == 2
    assert open_checkpoint(demo).is_random
    assert describe(demo, 3).is_random
    assert describe(demo, 3).n_layers == 4
    assert "random" in (demo / "README.md").read_text()


def test_heads_differ_in_what_they_look_at(demo):
    h = hidden_states(demo, " ".join(SENTENCES[:3]), 1).h
    content = logit_shares(load_attention(demo, 1)(h)).content
    assert content.min() < 0.4
    assert content.max() > 0.8


def test_is_the_same_every_time_and_replaces_itself_alone(demo, tmp_path):
    again = build_demo(tmp_path / "again")
    assert build_demo(again) == again
    for file in demo.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with refused(other, "something else"):
        build_demo(other)
    assert [file.name for file in other.iterdir()] == ["notes.txt"]
    with refused("notes.txt/model", "Not a directory"):
        build_demo(other / "notes.txt" / "model")


def test_is_built_by_a_command_without_transformers(tmp_path):
    code = (
        "import sys, runpy; sys.modules['transformers'] = None; sys.argv = ['demo', sys.argv[1]];"
        "runpy.run_module('mla_engine.checkpoints.demo', run_name='__main__')"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "demo")],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "random weights" in done.stdout
    assert (tmp_path / "demo" / "config.json").is_file()
