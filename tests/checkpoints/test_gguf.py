"""GGUF files, beside what llama.cpp's own package and transformers read in them."""

import re
from inspect import signature

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from kvcount.files.gguf import vocabulary
from kvcount.files.gguf.blocks import TYPES
from mla_engine.checkpoints import hidden_states_of_layers, load_attention, open_checkpoint
from mla_engine.checkpoints.tokens import tokenize
from tests.checkpoints import gguf_model
from tests.checkpoints.gguf_model import gguf
from tests.engine.samples import relative

TEXT = "The cat sat on the mat in 2024, and looked at 天上的月亮.\n  def f(x): return x + 12"


@pytest.fixture(scope="module")
def theirs(gguf_file):
    """The model that transformers makes of the file, in float32."""
    config = LlamaConfig(**load_gguf_checkpoint(gguf_file)["config"], attn_implementation="eager")
    model = LlamaForCausalLM(config)
    found = load_gguf_checkpoint(gguf_file, return_tensors=True, model_to_load=model)
    model.load_state_dict(found["tensors"], strict=False)
    return model.eval()


@pytest.mark.parametrize("kind", TYPES.values(), ids=lambda kind: kind.name)
def test_every_type_is_decoded_as_by_llama_cpp(kind):
    numbers, n_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind.name]]
    assert (kind.numbers, kind.n_bytes) == (numbers, n_bytes)
    data = np.random.default_rng(3).integers(0, 256, (64, n_bytes), np.uint8)
    with np.errstate(all="ignore"):
        wanted = gguf.dequantize(data, gguf.GGMLQuantizationType[kind.name]).reshape(-1)
    dtype = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}[kind.dtype]
    found = torch.frombuffer(bytearray(kind.numbers_of(data)), dtype=dtype).float()
    np.testing.assert_array_equal(found.numpy(), wanted.astype(np.float32))


def test_every_tensor_is_that_of_transformers(gguf_file, theirs):
    wanted = theirs.state_dict()
    del wanted["lm_head.weight"]  # the embedding again
    checkpoint = open_checkpoint(gguf_file)
    found = checkpoint.read(wanted)
    for name, tensor in wanted.items():
        assert torch.equal(found[name].float(), tensor), name
    assert {entry.dtype for entry in checkpoint.entries(wanted).values()} == {"F32", "F16", "BF16"}
    assert torch.equal(
        checkpoint.rows("model.embed_tokens.weight", [7, 0, 99]).float(),
        theirs.state_dict()["model.embed_tokens.weight"][[7, 0, 99]],
    )


def test_every_layer_and_its_input_are_those_of_transformers(gguf_file, theirs):
    ids, seen = torch.tensor([tokenize(gguf_file, TEXT).ids]), {}
    for number, block in enumerate(theirs.model.layers):
        block.self_attn.register_forward_hook(
            lambda _, args, given, found, number=number: seen.update(
                {number: (given["hidden_states"], *found)}
            ),
            with_kwargs=True,
        )
    with torch.no_grad():
        theirs(ids)
    ours = hidden_states_of_layers(gguf_file, TEXT, range(len(seen)))
    for number, (h, u, attention) in seen.items():
        assert relative(ours[number].h, h) < 1e-5
        with torch.no_grad():
            trace = load_attention(gguf_file, number)(h)
        assert relative(trace.u, u) < 1e-5
        assert (trace.attention - attention).abs().max() < 1e-5


@pytest.mark.parametrize("text", [TEXT, "12345 007 3.14", "  a  5   b", "x1y22z333", "①½ 二〇二四"])
def test_a_text_is_cut_as_by_transformers_and_every_digit_alone(gguf_file, text):
    """transformers leaves out that this tokenizer parts digits, so it is given the parts."""
    theirs = AutoTokenizer.from_pretrained(gguf_file.parent, gguf_file=gguf_file.name)
    parts = re.findall(r"[0-9①½]|[^0-9①½]+", text)
    wanted = [number for part in parts for number in theirs.encode(part, add_special_tokens=False)]
    assert list(tokenize(gguf_file, text).ids) == wanted
    assert wanted == gguf_model.tokenizer().encode(text).ids


def test_a_folder_with_one_file_is_that_file(gguf_file):
    assert open_checkpoint(gguf_file.parent).config == open_checkpoint(gguf_file).config
    assert open_checkpoint(gguf_file).config["mla_explorer_rounded"]


def test_a_rotation_of_llama_3_is_that_of_transformers(tmp_path):
    """The file divides each pair's frequency; transformers computes them of four numbers."""
    rope = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "low_freq_factor": 1.0}
    rope |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    sizes = {"hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(**sizes, rope_parameters=rope, max_position_embeddings=131_072)
    config._attn_implementation = "eager"
    slow, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    divisors = (5e5 ** (-torch.arange(0, 64, 2) / 64) / slow).numpy().astype(np.float32)

    def change(writer):
        writer.kv_data[0]["llama.rope.freq_base"].value = 5e5
        writer.add_tensor("rope_freqs.weight", divisors)

    path = gguf_model.write(tmp_path / "model.gguf", change)
    layer, h = load_attention(path, 1), torch.randn(1, 300, 256)
    attention = LlamaAttention(config, 1)
    names = {f"model.layers.1.self_attn.{name}": name for name in attention.state_dict()}
    found = open_checkpoint(path).read(names)
    attention.load_state_dict({names[name]: tensor.float() for name, tensor in found.items()})
    places = torch.arange(300)[None]
    mask = torch.full((1, 1, 300, 300), -torch.inf).triu(1)
    with torch.inference_mode():
        turned = LlamaRotaryEmbedding(config)(h, places)
        wanted = attention(h, position_embeddings=turned, attention_mask=mask)[0]
        assert relative(layer(h).u, wanted) < 1e-5


def test_llama_3_cuts_its_words_by_the_pattern_that_transformers_has():
    wanted = signature(TikTokenConverter.__init__).parameters["pattern"].default
    assert wanted == vocabulary.WORDS
