"""Whole models out of folders that transformers saved, against transformers' own run of them."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from mla_engine.budget import VARIABLE
from mla_engine.language_model import generate
from mla_engine.language_model.reading import layer_of, read
from mla_engine.language_model.real import load_real
from tests.checkpoints.models import GROUPED, built, filled, rewrite_config
from tests.checkpoints.texts import IDS, TEXT, add_tokenizer, folder_of
from tests.engine.samples import refused
from tests.language_model.samples import shipped

NAMES = ("llama", "llama, biases, linear", "llama 3.1", "mistral", "qwen2", "qwen3", "youtu")
TOKENS = torch.tensor([IDS])
WRITTEN = 6


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def folder(tmp_path):
    """A folder of Llama that a test may change."""
    built("llama").save_pretrained(tmp_path)
    return add_tokenizer(tmp_path)


@torch.no_grad()
def agree(ours, theirs):
    """Hold every layer's maps and output, the logits and the likeliest words against theirs."""
    outputs = []
    keep = lambda _module, _args, result: outputs.append(result[0])  # noqa: E731
    hooks = [layer.self_attn.register_forward_hook(keep) for layer in theirs.model.layers]
    wanted = theirs(TOKENS, output_attentions=True, output_hidden_states=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    found = read(ours, TOKENS)
    torch.testing.assert_close(found.logits, wanted.logits, atol=2e-5, rtol=1e-5)
    for layer, u in enumerate(outputs):
        trace = layer_of(ours, found, layer)
        assert (trace.attention.u - u).abs().max() < 1e-5 * u.abs().max()
        torch.testing.assert_close(found.attention[layer], wanted.attentions[layer])
        torch.testing.assert_close(found.x[layer], wanted.hidden_states[layer])
    text = TOKENS
    for step in generate(ours, TOKENS, WRITTEN):
        likeliest = theirs(text, use_cache=False).logits[:, -1].argmax(-1)
        assert step.token.equal(likeliest)
        text = torch.cat((text, likeliest[:, None]), 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_the_model_that_transformers_runs(name, folders):
    ours = load_real(folder_of(name, folders))
    assert ours.config.tokens(TEXT) == IDS
    agree(ours, built(name))


def test_an_output_that_is_the_embedding_and_weights_of_16_bits(tmp_path):
    config = LlamaConfig(**GROUPED, tie_word_embeddings=True, attn_implementation="eager")
    filled(LlamaForCausalLM(config)).half().save_pretrained(tmp_path)
    theirs = LlamaForCausalLM.from_pretrained(
        tmp_path, dtype=torch.float32, attn_implementation="eager"
    )
    ours = load_real(add_tokenizer(tmp_path))
    assert ours.W_U is None
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}
    agree(ours, theirs)


def test_texts_pass_in_the_pieces_of_the_tokenizer(folder):
    config = load_real(folder).config
    assert [config.words[token] for token in IDS] == TEXT.split()
    assert config.text(IDS) == TEXT
    assert config.words[0] == "<0>"
    with refused("empty"):
        config.tokens("")


def test_a_trained_small_model_is_read_like_a_real_one():
    ours, _ = shipped("mla")
    tokens = torch.tensor([ours.config.tokens("anna lamp ben cup anna")])
    found, whole = read(ours, tokens), ours(tokens)
    assert found.probabilities().equal(whole.probabilities())
    for layer, block in enumerate(whole.blocks):
        assert found.attention[layer].equal(block.attention.attention)
        assert layer_of(ours, found, layer).x_out.equal(block.x_out)


def test_progress_counts_the_bytes_of_all_tensors(folder):
    told = []
    load_real(folder, progress=lambda *both: told.append(both))
    size = sum(tensor.nbytes for tensor in load_file(folder / "model.safetensors").values())
    assert told[-1] == (size, size)
    assert told == sorted(told)


@pytest.mark.parametrize("name", ["gemma2", "gpt2", "deepseek_v3"])
def test_another_family_is_refused(name, folders):
    with refused(name, "llama, mistral"):
        load_real(folder_of(name, folders))


def changed(folder, change):
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("lm_head.weight"), ["lm_head.weight"]),
        (lambda t: t.pop("model.layers.1.mlp.up_proj.weight"), ["layers.1.mlp.up_proj"]),
        (lambda t: t.update({"model.layers.0.mlp.up_proj.bias": torch.ones(32)}), ["up_proj.bias"]),
        (
            lambda t: t.update({"model.norm.weight": torch.ones(9)}),
            ["model.norm.weight", "[9]", "[48]"],
        ),
        (lambda t: t["model.embed_tokens.weight"].fill_(torch.nan), ["embed_tokens", "NaN"]),
    ],
)
def test_a_damaged_folder_is_refused(folder, change, said):
    changed(folder, change)
    with refused(*said):
        load_real(folder)


def test_another_activation_is_refused(folder):
    with refused("hidden_act", "gelu", "silu"):
        load_real(rewrite_config(folder, hidden_act="gelu"))


def test_a_model_or_a_text_beyond_the_memory_is_refused(folder, monkeypatch):
    held = sum(parameter.nbytes for parameter in load_real(folder).parameters())
    model = load_real(folder)
    monkeypatch.setenv(VARIABLE, str(held / 2**30))
    with refused("size of the model"):
        load_real(folder)
    long = TOKENS.repeat(1, 40)
    for run in (lambda: read(model, long), lambda: model(long)):
        with refused("320 tokens", "number of tokens"):
            run()
