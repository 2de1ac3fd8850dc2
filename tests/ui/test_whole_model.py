"""The app's own real model is held whole, and gives what a worker and transformers give."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from mla_engine.checkpoints import CheckpointError
from tests.ui.conftest import REAL_TEXT as TEXT
from ui.sources import Checkpoint, checkpoint, whole

LAYERS, WRITTEN = 2, 9
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def theirs(llama):
    model = AutoModelForCausalLM.from_pretrained(
        llama, dtype=torch.float32, attn_implementation="eager"
    )
    return model.eval()


@pytest.fixture
def own_llama(llama, monkeypatch):
    """Let the small grouped model stand in for the app's own, and return its folder."""
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", (llama,))
    return llama


@pytest.fixture
def ids(own_llama):
    return whole.tokens(TEXT).ids


def of_workers(loaded: Checkpoint):
    return checkpoint._inputs(loaded, checkpoint.place(loaded))


@torch.no_grad()
@pytest.mark.parametrize("layer", range(LAYERS))
def test_what_enters_a_layer_is_what_a_worker_reads_and_transformers_computes(
    own_llama, theirs, layer
):
    entered = []
    norm = theirs.model.layers[layer].input_layernorm
    hook = norm.register_forward_hook(lambda _module, _args, h: entered.append(h))
    loaded = Checkpoint(own_llama, "", layer, TEXT)
    found, read = checkpoint.inputs(loaded), of_workers(loaded)
    theirs(torch.tensor([found.ids]))
    hook.remove()
    assert found.tokens == read.tokens
    assert (found.ids, found.origin) == (read.ids, read.origin)
    assert found.positions == read.positions
    torch.testing.assert_close(found.h, read.h, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.h, entered[0], atol=1e-5, rtol=1e-5)
    assert torch.equal(checkpoint.inputs_of_layers(loaded, LAYERS)[layer], found.h)


def test_a_layers_heads_have_the_weights_of_the_file(own_llama, theirs):
    heads, kept = (5, 2), slice(16 * 0, 16 * 1)  # of 8, four to a key and value head
    loaded = Checkpoint(own_llama, "", 1)
    layer = loaded.attention(checkpoint.plan(loaded).config, heads, torch.float64)
    attention = theirs.model.layers[1].self_attn
    rows = attention.q_proj.weight.unflatten(0, (8, 16)).double()
    assert torch.equal(layer.W_Q, rows[list(heads)])
    assert torch.equal(layer.W_K[1], attention.k_proj.weight[kept].double())


@torch.no_grad()
def test_the_next_words_are_those_of_transformers(ids, theirs):
    wanted = theirs(torch.tensor([ids]), output_attentions=True)
    found = whole.reading(ids)
    torch.testing.assert_close(found.probabilities(), wanted.logits.softmax(-1))
    for layer, maps in enumerate(wanted.attentions):
        torch.testing.assert_close(found.attention[layer], maps, atol=1e-5, rtol=1e-5)
        assert torch.equal(whole.layer(ids, layer).attention.attention, found.attention[layer])


def test_what_it_writes_is_what_transformers_writes(ids, theirs):
    given, told = torch.tensor([ids]), []
    options = {"max_new_tokens": WRITTEN, "do_sample": False, "eos_token_id": None}
    wanted = theirs.generate(given, attention_mask=torch.ones_like(given), **options)
    found = whole.written(ids, WRITTEN, progress=told.append)
    assert list(found) == wanted[0, len(ids) :].tolist()
    assert told == list(range(1, WRITTEN + 1))
    drawn = whole.written(ids, WRITTEN, 1.0, seed=1)
    assert drawn == whole.written(ids, WRITTEN, 1.0, seed=1)
    assert drawn != whole.written(ids, WRITTEN, 1.0, seed=2)


def test_it_is_read_once_until_its_file_is_written_again(own_llama):
    first = whole.model()
    assert whole.model() is first
    weights = Path(own_llama) / WEIGHTS
    before = weights.stat().st_mtime_ns
    os.utime(weights, ns=(before, before + 1))
    assert whole.model() is not first
    os.utime(weights, ns=(before, before))


def test_heads_are_scored_on_the_text_and_on_fresh_ones(ids):
    here, fresh = whole.scores(ids), whole.fresh_scores(whole.key())
    assert here.table.shape[:2] == fresh.table.shape[:2] == (LAYERS, 8)
    maps = whole.reading(ids).attention[1, 0, 3]
    assert here.table[1, 3, here.kinds.index("first")] == pytest.approx(float(maps[1:, 0].mean()))


def test_no_model_of_others_is_held(own_llama, demo):
    others = Checkpoint(demo, "", 1, TEXT)
    assert not whole.held(checkpoint.place(others).folder)
    assert torch.equal(checkpoint.inputs(others).h, of_workers(others).h)
    assert not whole.held(None)


def test_workers_read_it_where_there_is_no_room_for_all_of_it(own_llama, monkeypatch):
    size = (Path(own_llama) / WEIGHTS).stat().st_size
    monkeypatch.setattr("mla_engine.budget.limit_bytes", lambda: 2 * size)
    assert whole.key() is None
    loaded = Checkpoint(own_llama, "", 1, "The moon looked at the cat.")
    assert torch.equal(checkpoint.inputs(loaded).h, of_workers(loaded).h)


def test_without_its_weights_there_is_none(own_llama, tmp_path, monkeypatch):
    bare = shutil.copytree(own_llama, Path(own_llama).parent / "bare")
    (bare / WEIGHTS).unlink()
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", (str(bare),))
    assert whole.key() is None
    shutil.rmtree(bare)


def test_longer_texts_pass_through_without_their_maps(own_llama):
    loaded = Checkpoint(own_llama, "", 1, "the moon " * 140)
    found = checkpoint.inputs(loaded)
    assert whole.MOST_TOKENS < len(found.ids) <= whole.MOST_STREAMED
    torch.testing.assert_close(found.h, of_workers(loaded).h, atol=1e-5, rtol=1e-5)
    with pytest.raises(CheckpointError, match=f"give 1 to {whole.MOST_TOKENS}"):
        whole.tokens(loaded.text)
    with pytest.raises(CheckpointError, match="give 1 to 512"):
        checkpoint.inputs(replace(loaded, text="the moon " * 1000))
