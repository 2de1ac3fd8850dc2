"""Loading one attention: what is read, for which heads, in which dtype, and what is refused."""

import pytest
import torch
from transformers import DeepseekV2Config

from kvcount import counting, read
from mla_engine import budget
from mla_engine.checkpoints import (
    Checkpoint,
    CheckpointError,
    describe,
    load_attention,
    open_checkpoint,
)
from mla_engine.checkpoints.families import Attentions, attention_config
from tests.checkpoints.models import MODELS, built, own_tensors, rewritten, saved
from tests.engine.samples import hidden, refused, relative

NAMES = pytest.mark.parametrize("name", ["deepseek_v3", "deepseek_v2, lite", "qwen2", "gpt2"])
FALCON = "falcon, new decoder"
KV_B = "model.layers.1.self_attn.kv_b_proj.weight"


@NAMES
def test_says_what_it_would_read_and_reads_that(name, models_folder, monkeypatch):
    folder = saved(name, models_folder, False)
    assert len(list(folder.glob("*.safetensors"))) > 2
    module = MODELS[name].attention(built(name), 1)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "read", lambda *_: pytest.fail("weights read"))
        plan = describe(folder, 1)
    assert plan.n_bytes == sum(p.nbytes for p in module.parameters())
    assert {n.split("attn.", 1)[1] for n in plan.tensors} == {
        n for n, _ in module.named_parameters()
    }
    assert (plan.layer, plan.n_layers, plan.dtypes) == (1, 2, ("F32",))
    assert plan.family == MODELS[name].model_type
    assert not plan.is_random
    calls = []
    load_attention(folder, 1, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (plan.n_bytes, plan.n_bytes)


@pytest.mark.parametrize("name", ["deepseek_v3", "longcat_flash", "llama", FALCON])
@torch.no_grad()
def test_some_heads_keep_their_numbers(name, models_folder):
    whole = load_attention(saved(name, models_folder, False), 1)
    some = load_attention(saved(name, models_folder, False), 1, heads=[3, 1])
    h = hidden(1, 6, 48, dtype=torch.float32)
    wanted, got = whole(h, heads=[3, 1]), some(h, heads=[3, 1])
    assert some.heads == (3, 1)
    assert torch.equal(got.attention, wanted.attention)
    assert torch.equal(got.u, wanted.u)
    assert relative(some(h, heads=[1]).attention, wanted.attention[:, 1:]) < 1e-6
    with refused("heads has 9, but heads go from 0 to"):
        load_attention(saved(name, models_folder, False), 1, heads=[9])


@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_converts_what_is_stored_in_another_dtype(stored, dtype, tmp_path):
    folder = rewritten(
        tmp_path, "deepseek_v3", lambda ts: {name: t.to(stored) for name, t in ts.items()}
    )
    layer = load_attention(folder, 1, dtype=dtype)
    wanted = own_tensors("deepseek_v3")["model.layers.1.self_attn.kv_a_proj_with_mqa.weight"]
    assert torch.equal(layer.W_DKV, wanted[:16].to(stored).to(dtype))
    assert torch.equal(layer.W_KR, wanted[16:].to(stored).to(dtype))


def test_refuses_before_reading_what_the_memory_does_not_hold(models_folder, monkeypatch):
    folder = saved("deepseek_v3", models_folder, False)
    monkeypatch.setattr(Checkpoint, "read", lambda *_: pytest.fail("weights read"))
    monkeypatch.setenv(budget.VARIABLE, "1e-5")
    with pytest.raises(budget.MemoryBudgetError, match=r"layer 1 of .* needs .*heads=") as error:
        load_attention(folder, 1)
    plan = describe(folder, 1)
    assert error.value.needed_bytes == 2 * plan.n_bytes + 48 * 40 * 4  # W_O is the largest


@pytest.mark.parametrize(
    "prefix", ["", "language_model.model.", "model.language_model.", "language.model."]
)
def test_finds_the_model_inside_another(prefix, tmp_path, models_folder):
    folder = rewritten(
        tmp_path,
        "deepseek_v3",
        lambda ts: {prefix + n.removeprefix("model."): t for n, t in ts.items()},
    )
    wanted = load_attention(saved("deepseek_v3", models_folder, False), 1)
    assert torch.equal(load_attention(folder, 1).W_UK, wanted.W_UK)


@pytest.mark.parametrize(
    "names", ["text_config", "llm_config", "language_config", "thinker_config text_config"]
)
def test_counter_and_checkpoints_read_one_part_of_a_larger_model(names):
    """The cache that they find is that of transformers' own configuration, which stands inside."""
    own = DeepseekV2Config(num_hidden_layers=5)
    config = own.to_dict() | {"q_lora_rank": None}
    for name in reversed(names.split()):
        config = {"model_type": "larger", name: config}
    found, kept = attention_config(config, 4), read(config)
    cached = own.kv_lora_rank + own.qk_rope_head_dim
    assert (found.d_latent_kv + found.d_rope, len(Attentions(config))) == (cached, 5)
    assert (found.n_heads, found.d_latent_q) == (own.num_attention_heads, None)
    assert sum(map(counting.numbers_per_token, kept.layers)) == 5 * cached


def test_reads_the_text_part_of_a_model_of_images(tmp_path, models_folder):
    config = open_checkpoint(saved("mistral4", models_folder, False)).config
    other = {"model_type": "mistral3", "text_config": config, "rope_parameters": None}
    plan = describe(rewritten(tmp_path, "mistral4", **other), 1)
    assert plan.family == "mistral4"
    assert plan.config == describe(saved("mistral4", models_folder, False), 1).config
    assert plan.notes == ("part of a larger model", "positions end")


@pytest.mark.parametrize(
    ("name", "layer", "notes"),
    [
        ("deepseek_v3", 1, ()),
        ("gpt2", 0, ("learned positions",)),
        ("qwen2", 0, ("no output bias",)),
        ("qwen2", 1, ("no output bias", "sliding window")),
        ("mistral4", 0, ("positions end",)),
    ],
)
def test_notes_what_a_reader_should_know(name, layer, notes, models_folder):
    assert describe(saved(name, models_folder, False), layer).notes == notes


def test_refuses_positions_where_mistral_4_raises_its_scale(models_folder):
    layer = load_attention(saved("mistral4", models_folder, False), 1)
    h = hidden(1, 2, 48, dtype=torch.float32)
    layer(h, positions=[254, 255])
    with refused("positions reach 256", "position_limit (256)"):
        layer(h, positions=[255, 256])


@pytest.mark.parametrize("value", [torch.nan, -torch.inf])
def test_refuses_weights_that_are_not_numbers(value, tmp_path):
    def broken(tensors):
        changed = tensors[KV_B].clone()
        changed[5, :3] = value
        return tensors | {KV_B: changed}

    with pytest.raises(CheckpointError, match=rf"{KV_B} has 3 values that are NaN or Inf"):
        load_attention(rewritten(tmp_path, "deepseek_v3", broken), 1)


def test_refuses_weights_that_overflow_in_the_dtype_asked_for(tmp_path):
    folder = rewritten(tmp_path, "deepseek_v3", lambda ts: ts | {KV_B: ts[KV_B] * 1e6})
    load_attention(folder, 1)
    with pytest.raises(CheckpointError, match=r"NaN or Inf in torch.float16: try torch.float32"):
        load_attention(folder, 1, dtype=torch.float16)


def without(*names):
    return lambda tensors: {k: v for k, v in tensors.items() if k not in names}


REFUSED = {
    "a tensor is missing": (without(KV_B), {}, f"has no tensor {KV_B}"),
    "all are missing": (without(*own_tensors("deepseek_v3")), {}, "has no tensor model.layers.1"),
    "another shape": (
        lambda ts: ts | {KV_B: ts[KV_B][:80]},
        {},
        rf"{KV_B} has the shape \[80, 16\], and config.json asks for \[88, 16\]",
    ),
    "another width in config.json": (
        dict,
        {"v_head_dim": 9},
        r"kv_b_proj.weight has the shape \[88, 16\], .* asks for \[84, 16\]",
    ),
    "integers": (
        lambda ts: ts | {KV_B: ts[KV_B].to(torch.int8)},
        {},
        f"{KV_B} is stored as I8: only F64, F32, BF16, F16",
    ),
    "biases that config.json denies": (
        dict,
        {"attention_bias": False},
        r"model.layers.1.self_attn has .*q_a_proj.bias, which its config.json does not ask for",
    ),
    "something unknown": (
        lambda ts: ts | {"model.layers.1.self_attn.sinks": torch.zeros(4)},
        {},
        r"model.layers.1.self_attn has sinks, .* the engine does not model",
    ),
    "queries without their latent": (
        lambda ts: ts | {"model.layers.1.self_attn.q_proj.weight": torch.zeros(80, 48)},
        {},
        r"model.layers.1.self_attn has q_proj.weight, which .* does not ask for",
    ),
}


@pytest.mark.parametrize(("change", "entries", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses_tensors_that_contradict_the_config(change, entries, message, tmp_path):
    folder = rewritten(tmp_path, "deepseek_v3", change, **entries)
    for call in (describe, load_attention):
        with pytest.raises(CheckpointError, match=message):
            call(folder, 1)


def test_leaves_masks_and_frequencies_alone(tmp_path):
    beside = {"transformer.h.0.attn.bias": torch.ones(1, 1, 4, 4)}
    load_attention(rewritten(tmp_path / "a", "gpt2", lambda ts: ts | beside), 0)
    beside = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    load_attention(rewritten(tmp_path / "b", "llama", lambda ts: ts | beside), 0)
