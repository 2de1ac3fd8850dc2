"""Rotations, windows and names of Gemma 3, gpt-oss, GLM-4.5V and Qwen3-Omni, as published."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Gemma3TextConfig, GptOssConfig
from transformers.models.gemma3.modeling_gemma3 import Gemma3Attention, Gemma3RotaryEmbedding
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssRotaryEmbedding

from mla_engine.checkpoints import CheckpointError, attention_config, load_attention, trace_module
from mla_engine.rope import inverse_frequencies, rotation
from tests.checkpoints.models import built, own_config, saved
from tests.refusals import refusing

GEMMA_3_4B = {  # the text_config of google/gemma-3-4b-it
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "model_type": "gemma3_text",
    "num_hidden_layers": 34,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "sliding_window": 1024,
}


def test_gemma_3_is_what_its_class_makes_of_its_file():
    """Heads, scale, theta and the pattern of windows are left out of it."""
    theirs = Gemma3TextConfig(**GEMMA_3_4B)
    rotary = Gemma3RotaryEmbedding(theirs)
    for layer in (0, 4, 5, 6, 33):
        ours = attention_config({"model_type": "gemma3", "text_config": GEMMA_3_4B}, layer)
        with torch.device("meta"):
            module = Gemma3Attention(theirs, layer)
        assert ours.sliding_window == module.sliding_window
        assert ours.scale == pytest.approx(module.scaling, rel=1e-12)
        assert ours.n_heads * ours.d_head == module.q_proj.out_features
        assert ours.n_kv_heads * ours.d_head == module.k_proj.out_features
        wanted = getattr(rotary, f"{module.layer_type}_inv_freq")
        found = inverse_frequencies(ours.rope, ours.d_head)
        torch.testing.assert_close(found.float(), wanted, rtol=1e-6, atol=0)


def test_gpt_oss_has_its_own_rotation_where_its_file_says_none():
    sizes = {"hidden_size": 48, "num_attention_heads": 6, "head_dim": 8, "num_hidden_layers": 2}
    theirs = GptOssConfig(**sizes)
    ours = attention_config({"model_type": "gpt_oss", "num_key_value_heads": 2} | sizes, 1)
    positions = torch.arange(200)
    wanted = GptOssRotaryEmbedding(theirs)(torch.zeros(1), positions[None])
    for found, want in zip(rotation(ours.rope, 8, positions), wanted, strict=True):
        torch.testing.assert_close(found.float(), want[0], rtol=0, atol=200 * 2**-22)


def test_reads_the_thinker_of_a_whole_qwen3_omni(models_folder, tmp_path):
    folder = saved("qwen3_omni_moe", models_folder, False)
    tensors = {}
    for file in folder.glob("*.safetensors"):
        tensors |= {f"thinker.{name}": tensor for name, tensor in load_file(file).items()}
    save_file(tensors, tmp_path / "model.safetensors")
    config = {"model_type": "qwen3_omni_moe", "talker_config": {}, "code2wav_config": {}}
    config |= {"thinker_config": json.loads((folder / "config.json").read_text())}
    (tmp_path / "config.json").write_text(json.dumps(config))
    whole, part = load_attention(tmp_path, 1), load_attention(folder, 1)
    assert whole.config == part.config
    assert all(map(torch.equal, whole.parameters(), part.parameters()))


def test_refuses_positions_of_pictures():
    positions = torch.arange(4).repeat(3, 1, 1)
    given = {"input_ids": torch.tensor([[5, 3, 2, 7]]), "position_ids": positions.clone()}
    trace_module(built("glm4v_moe"), 1, given)
    given["position_ids"][1, 0] += 2
    with refusing("positions_of_pictures"):
        trace_module(built("glm4v_moe"), 1, given)


NOT_READ = {
    "norms of queries": ("glm4v_moe", {"use_qk_norm": True}),
    "a window": ("qwen3_omni_moe", {"use_sliding_window": True, "max_window_layers": 1}),
    "a soft cap": ("gemma3", {"attn_logit_softcapping": 50.0}),
    "both directions": ("gemma3", {"use_bidirectional_attention": True}),
    "one rotation for all layers": ("gemma3", {"rope_parameters": {"rope_type": "default"}}),
    "no table": ("gemma3", {"rope_parameters": "default"}),
    "no such part": ("glm4v_moe", {"partial_rotary_factor": -1, "rope_parameters": None}),
    "no such pattern": ("gemma3", {"sliding_window_pattern": 0, "layer_types": None}),
}


@pytest.mark.parametrize(("name", "changes"), NOT_READ.values(), ids=NOT_READ)
def test_names_what_it_does_not_read(name, changes):
    config = own_config(name)
    attention_config(config, 1)
    text = config["text_config"] | changes
    with pytest.raises(CheckpointError, match=next(iter(changes))):
        attention_config(config | {"text_config": text}, 1)
