"""MLA made of a small model's folder and a file of differences, against transformers' own MLA."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, YoutuConfig, YoutuForCausalLM

from mla_engine.checkpoints import CheckpointError, real_mla, real_model
from mla_engine.language_model import generate
from mla_engine.language_model.real import load_real
from tests.checkpoints.models import GROUPED, filled
from tests.checkpoints.texts import IDS, add_tokenizer

HEADS, GROUPS, WIDTH, LATENT, D, LAYERS = 6, 2, 8, 20, 48, 2
PAIRS = [0, 0, 1, 3]
FACTORS = [1.0, 0.1, 0.1, 1.0]  # theta 10,000: pair 1 at the place of pair 2 turns 10 times faster
TOKENS = torch.tensor([IDS])
MODEL = Path(__file__).parents[2] / real_model.FOLDER


@pytest.fixture
def source(tmp_path):
    """A small model of Llama's class in 16 bits."""
    config = LlamaConfig(**GROUPED, tie_word_embeddings=True)
    folder = tmp_path / "source"
    filled(LlamaForCausalLM(config)).half().save_pretrained(folder)
    return add_tokenizer(folder)


def in_8_bits(name, rows, columns, generator):
    numbers = torch.randint(-127, 128, (rows, columns), generator=generator).to(torch.int8)
    return {name: numbers, f"{name}.scale": 1e-3 * torch.rand(rows, generator=generator)}


@pytest.fixture
def differences(tmp_path):
    """Differences drawn at random."""
    generator = torch.Generator().manual_seed(4)
    tensors = {}
    for n in range(LAYERS):
        tensors |= in_8_bits(f"{n}.kv_a", LATENT + WIDTH, D, generator)
        tensors |= in_8_bits(f"{n}.kv_b", GROUPS * 2 * WIDTH, LATENT, generator)
        tensors |= in_8_bits(f"{n}.O", D, HEADS * WIDTH, generator)
        tensors[f"{n}.mix"] = torch.randn(HEADS, WIDTH // 2, 2, generator=generator)
    rope = {"rope_type": "longrope", "short_factor": FACTORS, "long_factor": FACTORS}
    rope |= {"attention_factor": 1.0, "factor": 1.0, "original_max_position_embeddings": 512}
    config = {"model_type": "mla_explorer", "q_lora_rank": None, "kv_lora_rank": LATENT}
    config |= {"qk_nope_head_dim": WIDTH, "qk_rope_head_dim": WIDTH, "v_head_dim": WIDTH}
    config |= {"num_key_value_heads": HEADS, "softmax_scale": WIDTH**-0.5}
    config |= {"rope_scaling": rope, "rope_theta": 10000.0, "rope_parameters": None}
    about = {"layers": LAYERS, "heads": HEADS, "pairs": PAIRS, "config": config, "told": "never"}
    about |= {"numbers": {"cached": 28, "before": 32}}
    file = tmp_path / "differences.safetensors"
    save_file(tensors, file, {"about": json.dumps(about)})
    return file


@pytest.fixture
def made(source, differences, tmp_path):
    return real_mla.build(tmp_path / "made", source, differences)


def in_transformers(folder):
    """Return transformers' MLA with the folder's weights, and no norm of the latent."""
    own = json.loads((folder / "config.json").read_text())
    rope = own["rope_scaling"] | {"rope_theta": own["rope_theta"]}
    left_out = ("model_type", "rope_scaling", "rope_theta", "architectures", "head_dim")
    kept = {key: value for key, value in own.items() if key not in left_out}
    kept |= {"rope_parameters": rope, "rope_interleave": False, "attn_implementation": "eager"}
    model = YoutuForCausalLM(YoutuConfig(**kept)).eval()
    weights = load_file(folder / "base.safetensors")
    weights = {name: w for name, w in weights.items() if ".self_attn." not in name}
    weights |= load_file(folder / "attention.safetensors")
    named = {name.replace(".mla.", ".self_attn."): w.float() for name, w in weights.items()}
    odd = model.load_state_dict(named, strict=False)
    assert not odd.unexpected_keys
    assert all("kv_a_layernorm" in name or "lm_head" in name for name in odd.missing_keys)
    model.tie_weights()
    for layer in model.model.layers:
        layer.self_attn.kv_a_layernorm = torch.nn.Identity()
        layer.self_attn.scaling = own["softmax_scale"]
    return model


@torch.no_grad()
def test_it_is_the_mla_that_transformers_runs_in_every_form(made):
    ours, theirs = load_real(made), in_transformers(made)
    wanted = theirs(TOKENS, use_cache=False).logits
    largest = wanted.abs().max()
    for form in ("expanded", "absorbed"):
        assert (ours(TOKENS, form=form).logits - wanted).abs().max() < 1e-5 * largest
    longer, caches = ours.decode(TOKENS[:, :3], ours.empty_caches())
    assert (longer.logits - wanted[:, :3]).abs().max() < 1e-5 * largest
    rest, caches = ours.decode(TOKENS[:, 3:], caches)
    assert (rest.logits - wanted[:, 3:]).abs().max() < 1e-5 * largest
    assert caches[0].c_KV.shape[-1] + caches[0].k_R.shape[-1] == LATENT + WIDTH
    text = TOKENS
    for step in generate(ours, TOKENS, 3):
        likeliest = theirs(text, use_cache=False).logits[:, -1].argmax(-1)
        assert step.token.equal(likeliest)
        text = torch.cat((text, likeliest[:, None]), 1)


def test_differences_of_nothing_leave_queries_and_output_as_they_are(source, differences, tmp_path):
    tensors, own = load_file(differences), load_file(source / "model.safetensors")
    for name, tensor in tensors.items():
        if name.endswith(".O"):
            tensor.zero_()
        if name.endswith("mix"):
            tensor.copy_(torch.tensor([1.0, 0.0]).expand_as(tensor))
    with safe_open(differences, "pt") as opened:
        save_file(tensors, tmp_path / "none.safetensors", opened.metadata())
    folder = real_mla.build(tmp_path / "made", source, tmp_path / "none.safetensors")
    found = load_file(folder / "attention.safetensors")
    for n in range(LAYERS):
        W_Q = own[f"model.layers.{n}.self_attn.q_proj.weight"].view(HEADS, WIDTH, D)
        both = found[f"model.layers.{n}.mla.q_proj.weight"].view(HEADS, 2 * WIDTH, D)
        content, rotary = both.split(WIDTH, 1)
        assert content.equal(W_Q)
        assert rotary.equal(W_Q[:, [*PAIRS, *(pair + WIDTH // 2 for pair in PAIRS)]])
        O = own[f"model.layers.{n}.self_attn.o_proj.weight"]  # noqa: E741
        assert found[f"model.layers.{n}.mla.o_proj.weight"].equal(O)
        keys_and_values = found[f"model.layers.{n}.mla.kv_b_proj.weight"].view(HEADS, -1, LATENT)
        group = HEADS // GROUPS
        assert keys_and_values[0].equal(keys_and_values[group - 1])
        assert not keys_and_values[0].equal(keys_and_values[group])


def test_the_model_beside_it_lies_on_the_disk_once(made, source):
    assert (made / "base.safetensors").samefile(source / "model.safetensors")
    assert {path.name for path in made.iterdir()} >= {"README.md", "tokenizer.json", "config.json"}
    assert not [path for path in made.parent.iterdir() if path.name.startswith(".made")]


def test_without_the_model_or_with_a_damaged_one_nothing_is_made(source, differences, tmp_path):
    weights = source / "model.safetensors"
    whole = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match=weights.name):
        real_mla.build(tmp_path / "made", source, differences)
    with pytest.raises(CheckpointError, match="nowhere"):
        real_mla.build(tmp_path / "made", tmp_path / "nowhere", differences)
    assert not (tmp_path / "made").exists()


def test_the_differences_that_are_shipped_are_small():
    assert real_mla.DIFFERENCES.stat().st_size < 20e6


@torch.no_grad()
def test_the_shipped_model_reads_the_same_in_every_form(tmp_path):
    if not MODEL.is_dir():
        pytest.skip(f"no model in {MODEL.name}: the shipped differences were not applied")
    made = load_real(real_mla.build(tmp_path / "made", MODEL))
    tokens = torch.tensor([made.config.tokens("The capital of France is Paris, and of Italy")])
    c = made.config.attention
    assert c.d_latent_kv + c.d_rope == 192
    first, caches = made.decode(tokens[:, :5], made.empty_caches(capacity=tokens.shape[1]))
    second, _ = made.decode(tokens[:, 5:], caches)
    absorbed, expanded = made(tokens, form="absorbed"), made(tokens)
    for block, other in zip(made.blocks, absorbed.blocks, strict=True):
        u = block.attention(other.attention.h).u
        assert (other.attention.u - u).abs().max() < 1e-5 * u.abs().max()
    probabilities = expanded.probabilities()
    cached = torch.cat((first.probabilities(), second.probabilities()), 1)
    for found in (absorbed.probabilities(), cached):
        torch.testing.assert_close(found, probabilities, atol=1e-4, rtol=0)
    assert made.config.text([int(expanded.logits[0, 4].argmax())]) == " Paris"
