"""The whole model against transformers' own classes with the same weights, dense layers."""

from dataclasses import replace

import pytest
import torch
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM, LlamaConfig, LlamaForCausalLM

from mla_engine import RopeConfig
from mla_engine.language_model import LanguageModel
from tests.language_model.samples import GQA, MLA, WORDS, model, text

COMMON = {
    "vocab_size": len(WORDS), "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2,
    "max_position_embeddings": 16, "rms_norm_eps": 1e-6, "tie_word_embeddings": True,
    "attn_implementation": "eager", "pad_token_id": None, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip


def common(ours: LanguageModel) -> dict[str, torch.Tensor]:
    weights = {"model.embed_tokens.weight": ours.W_E, "lm_head.weight": ours.W_E}
    weights["model.norm.weight"] = ours.norm
    for i, block in enumerate(ours.blocks):
        at = f"model.layers.{i}"
        weights[f"{at}.input_layernorm.weight"] = block.attention_norm
        weights[f"{at}.post_attention_layernorm.weight"] = block.mlp_norm
        for name in ("gate", "up", "down"):
            weights[f"{at}.mlp.{name}_proj.weight"] = getattr(block, f"W_{name}")
        weights[f"{at}.self_attn.o_proj.weight"] = block.attention.W_O.flatten(1)
    return weights


def agree(ours: LanguageModel, theirs: torch.nn.Module, weights: dict[str, torch.Tensor]) -> None:
    theirs = theirs.double()
    missing = theirs.load_state_dict(weights, strict=False)
    assert not missing.unexpected_keys
    assert not missing.missing_keys
    with torch.no_grad():
        logits = theirs(text(2, 11), use_cache=False).logits
    torch.testing.assert_close(ours(text(2, 11)).logits, logits, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours.logits(text(2, 11)), logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize("d_latent_q", [None, 14])
def test_a_decoder_with_mla_is_deepseek_v3(d_latent_q):
    ours = model(replace(MLA, d_latent_q=d_latent_q))
    sizes = {"num_attention_heads": 3, "num_key_value_heads": 3, "qk_nope_head_dim": 8}
    sizes |= {"qk_rope_head_dim": 4, "v_head_dim": 6, "kv_lora_rank": 10, "q_lora_rank": d_latent_q}
    sizes |= {"first_k_dense_replace": 2, "rope_interleave": True}
    theirs, weights = DeepseekV3ForCausalLM(DeepseekV3Config(**COMMON, **sizes)), common(ours)
    for i, block in enumerate(ours.blocks):
        w, at = block.attention, f"model.layers.{i}.self_attn"
        queries = torch.cat((w.W_UQ, w.W_QR), 1).flatten(0, 1)
        if d_latent_q:
            weights[f"{at}.q_a_proj.weight"] = w.W_DQ
            weights[f"{at}.q_a_layernorm.weight"] = w.c_Q_norm
        weights[f"{at}.q_{'b_' if d_latent_q else ''}proj.weight"] = queries
        weights[f"{at}.kv_a_proj_with_mqa.weight"] = torch.cat((w.W_DKV, w.W_KR))
        weights[f"{at}.kv_a_layernorm.weight"] = w.c_KV_norm
        weights[f"{at}.kv_b_proj.weight"] = torch.cat((w.W_UK, w.W_UV), 1).flatten(0, 1)
    agree(ours, theirs, weights)


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
def test_a_decoder_with_grouped_queries_is_llama(n_kv_heads):
    ours = model(replace(GQA, n_kv_heads=n_kv_heads, rope=RopeConfig(pairing="half")))
    sizes = {"num_attention_heads": 4, "num_key_value_heads": n_kv_heads, "head_dim": 6}
    theirs, weights = LlamaForCausalLM(LlamaConfig(**COMMON, **sizes)), common(ours)
    for i, block in enumerate(ours.blocks):
        at = f"model.layers.{i}.self_attn"
        for name in "QKV":
            weight = getattr(block.attention, f"W_{name}").flatten(0, 1)
            weights[f"{at}.{name.lower()}_proj.weight"] = weight
    agree(ours, theirs, weights)
