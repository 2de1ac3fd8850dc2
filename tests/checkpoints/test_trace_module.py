"""The trace of a live model: attention and output are the model's own."""

import re
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from transformers import BatchEncoding

from mla_engine.checkpoints import (
    CheckpointError,
    load_attention,
    trace_module,
)
from tests.checkpoints.models import MODELS, built, seen_by
from tests.engine.samples import hidden, relative
from tests.refusals import refusing

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
IDS = torch.tensor([[5, 9, 9, 31, 2, 7, 63, 1], [8, 3, 3, 40, 11, 6, 0, 2]])


def own(name, layer, **given):
    """Hidden states, output and attention that the model's own attention had when it ran."""
    module = MODELS[name].attention(built(name), layer)
    asked = {"use_cache": False, "output_attentions": True}
    (kept,) = seen_by([module], lambda: built(name)(**given, **asked))
    return kept[:3]


@pytest.mark.parametrize("name", MODELS)
def test_equals_the_model(name):
    """Angles in float32 are off by less than 8 x 2^-24 here."""
    for layer in MODELS[name].layers:
        h, u, attention = own(name, layer, input_ids=IDS)
        trace = trace_module(built(name), layer, {"input_ids": IDS})
        assert relative(trace.h, h) == 0
        assert relative(trace.u, u) < 1e-5
        if attention is not None:  # linear attention has none
            assert relative(trace.attention, attention) < 1e-5


def test_takes_numbers_of_tokens_positions_and_hidden_states():
    model = built("deepseek_v3")
    trace = trace_module(model, 1, IDS)
    answer = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS), "past_key_values": None}
    again = trace_module(model, 1, BatchEncoding(answer))
    assert torch.equal(again.u, trace.u)
    again = trace_module(model, 1, trace.h)
    assert torch.equal(again.u, trace.u)
    positions = torch.arange(20, 28)[None]
    for rows in (positions, torch.cat((torch.arange(8)[None], positions))):
        given = {"input_ids": IDS, "position_ids": rows}
        moved = trace_module(model, 1, given)
        assert relative(moved.u, own("deepseek_v3", 1, **given)[1]) < 1e-5
        assert relative(moved.q_R, trace.q_R) > 0.1


def test_the_way_in_the_readme_runs(demo, tmp_path, monkeypatch):
    """Its model is loaded by the recipe above it; the file gives the same layer."""
    codes = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (recipe,) = (code for code in codes if "save_file" in code)
    (way,) = (code for code in codes if "trace_module" in code)
    (generating,) = (code for code in codes if "follow_module" in code)
    names = {}
    monkeypatch.chdir(tmp_path)
    exec(recipe.replace("models/demo", str(demo)).replace('"auto"', '"float32"'), names)
    exec(way, names)
    wanted = load_attention(demo, names["layer"])(names["inputs"]["h"])
    assert relative(names["trace"].u, wanted.u) < 1e-6
    exec(generating, names)
    prompt, rows = names["ids"].shape[1], names["rows"]
    assert torch.equal(torch.stack(rows[:prompt]), names["trace"].attention[0, 3])
    assert [len(row) for row in rows[prompt:]] == [*range(prompt + 1, prompt + 20)]


def test_runs_the_model_no_further_and_leaves_no_hook(monkeypatch):
    model = built("llama")
    layers = model.model.layers
    monkeypatch.setattr(type(layers[1].mlp), "forward", lambda *_: pytest.fail("ran on"))
    trace_module(model, 0, IDS)
    assert not layers[0].self_attn._forward_pre_hooks


def test_takes_a_model_without_its_head():
    h = hidden(1, 4, 48, dtype=torch.float32)
    whole, bare = built("gpt2"), built("gpt2").transformer
    assert torch.equal(trace_module(bare, 0, h).u, trace_module(whole, 0, h).u)


def test_refuses_what_it_cannot_trace():
    model = built("llama")
    with refusing("layer_range", layer=2):
        trace_module(model, 2, IDS)
    with pytest.raises(
        ValueError, match=r"inputs \(\[5, 9\]\) must be a tensor or what a tokenizer"
    ):
        trace_module(model, 0, [5, 9])
    padded = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS).triu()}
    with pytest.raises(CheckpointError, match="padded"):
        trace_module(model, 0, padded)
    everywhere = {"input_ids": IDS, "attention_mask": torch.ones(2, 1, 8, 8, dtype=torch.bool)}
    with pytest.raises(CheckpointError, match=r"attention_mask is \[2, 1, 8, 8\]"):
        trace_module(model, 0, everywhere)  # the model looks ahead with it
    for packed in ([0, 1, 2, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6, 9], list(range(8))[::-1]):
        with pytest.raises(CheckpointError, match="position_ids jump"):
            trace_module(model, 0, {"input_ids": IDS, "position_ids": torch.tensor([packed])})
    for wrong in (IDS + 900, IDS > 5):
        with refusing("cannot_run"):
            trace_module(model, 0, wrong)
    with refusing("model_config", kind="Linear"):
        trace_module(torch.nn.Linear(2, 2).eval(), 0, IDS)
    model.train()
    try:
        with pytest.raises(CheckpointError, match=r"model\.eval\(\)"):
            trace_module(model, 0, IDS)
    finally:
        model.eval()


def test_refuses_broken_and_quantised_weights():
    model = deepcopy(built("llama"))
    projection = model.model.layers[0].self_attn.q_proj
    projection.weight[3, 4] = torch.nan
    with refusing("not_finite", name="q_proj.weight", count=1):
        trace_module(model, 0, IDS)
    eight = projection.weight.to(torch.float8_e4m3fn)
    projection.weight = torch.nn.Parameter(eight, requires_grad=False)
    with pytest.raises(CheckpointError, match="quantised"):
        trace_module(model, 0, IDS)
