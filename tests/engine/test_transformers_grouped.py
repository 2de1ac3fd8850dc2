"""MHA, GQA and MQA against the attention modules of transformers, same weights, in float32."""

from dataclasses import dataclass, field

import pytest
import torch
from transformers import Gemma2Config, GPT2Config, LlamaConfig, Qwen2Config, Qwen3Config
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention, Gemma2RotaryEmbedding
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding
from transformers.models.qwen2.modeling_qwen2 import Qwen2Attention, Qwen2RotaryEmbedding
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RotaryEmbedding

from mla_engine import GroupedConfig, GroupedQueryAttention, RopeConfig
from mla_engine.config import LinearScaling, Llama3Scaling
from mla_engine.rope import rotation
from tests.engine.families import angles, loaded
from tests.engine.samples import hidden, randomized, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
WIDTH, HEADS, HEAD = 48, 6, 8


@dataclass(frozen=True)
class Family:
    """A module of transformers and the configuration of ours that should equal it."""

    module: type
    config: type
    rotary: type | None
    ours: dict
    theirs: dict = field(default_factory=dict)
    layer: int = 0

    @property
    def grouped(self):
        sizes = {"d_model": WIDTH, "n_heads": HEADS, "n_kv_heads": 2, "d_head": HEAD}
        sizes |= {"rope": RopeConfig(pairing="half")} if self.rotary else {}
        return GroupedConfig(**(sizes | self.ours))


LLAMA3 = Llama3Scaling(factor=8.0, original_max_position=64)
LLAMA3_WORDS = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
LINEAR_WORDS = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 8.0}
GEMMA = {"softmax_scale": 10**-0.5, "logit_softcap": 1.5}
GEMMA_WORDS = {
    "query_pre_attn_scalar": 10,
    "attn_logit_softcapping": 1.5,
    "sliding_window": 3,
    "num_hidden_layers": 2,
}
LLAMA = (LlamaAttention, LlamaConfig, LlamaRotaryEmbedding)
QWEN2 = (Qwen2Attention, Qwen2Config, Qwen2RotaryEmbedding)
QWEN3 = (Qwen3Attention, Qwen3Config, Qwen3RotaryEmbedding)
GEMMA2 = (Gemma2Attention, Gemma2Config, Gemma2RotaryEmbedding)
FAMILIES = {
    "Llama 2, MHA": Family(*LLAMA, {"n_kv_heads": 6}),
    "Llama 2, GQA": Family(*LLAMA, {}),
    "Llama 2, MQA": Family(*LLAMA, {"n_kv_heads": 1}),
    "Llama 3.1": Family(
        *LLAMA,
        {"rope": RopeConfig(theta=500000.0, pairing="half", scaling=LLAMA3)},
        {"rope_parameters": LLAMA3_WORDS},
    ),
    "Llama, linear": Family(
        *LLAMA,
        {"rope": RopeConfig(pairing="half", scaling=LinearScaling(factor=8.0)), "bias": True},
        {"rope_parameters": LINEAR_WORDS, "attention_bias": True},
    ),
    "Qwen2, biases": Family(*QWEN2, {"bias": True}),
    "Qwen3, QK norm": Family(*QWEN3, {"qk_norm": True, "norm_eps": 1e-3}, {"rms_norm_eps": 1e-3}),
    "Gemma2, window": Family(*GEMMA2, GEMMA | {"sliding_window": 3}, GEMMA_WORDS),
    "Gemma2, global": Family(*GEMMA2, GEMMA, GEMMA_WORDS, layer=1),
    "GPT-2": Family(GPT2Attention, GPT2Config, None, {"n_kv_heads": 6, "bias": True}),
}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
rotating = pytest.mark.parametrize(
    "family",
    [f for f in FAMILIES.values() if f.rotary],
    ids=[n for n, f in FAMILIES.items() if f.rotary],
)


def their_config(family):
    c = family.grouped
    sizes = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "head_dim": HEAD}
    sizes |= {"num_key_value_heads": c.n_kv_heads, "max_position_embeddings": 512}
    sizes |= {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
    if not family.rotary:
        sizes = {"n_embd": WIDTH, "n_head": HEADS}
    config = family.config(**(sizes | family.theirs))
    config._attn_implementation = "eager"
    return config


def their_module(family, config, gqa):
    """Their module with our weights; GPT-2 keeps [in, out] and all three in one matrix."""
    module = family.module(config, layer_idx=family.layer)
    weights = [w.flatten(0, 1) for w in (gqa.W_Q, gqa.W_K, gqa.W_V)]
    W_O, biases = gqa.W_O.flatten(1), (gqa.b_Q, gqa.b_K, gqa.b_V)
    if family.module is GPT2Attention:
        state = {"c_attn.weight": torch.cat(weights).T, "c_proj.weight": W_O.T}
        state |= {"c_attn.bias": torch.cat([b.flatten() for b in biases]), "c_proj.bias": gqa.b_O}
        return loaded(module, state)
    state = {f"{n}_proj.weight": w for n, w in zip("qkv", weights, strict=True)}
    state |= {"o_proj.weight": W_O}
    if family.grouped.bias:
        state |= {f"{n}_proj.bias": b.flatten() for n, b in zip("qkv", biases, strict=True)}
    if family.grouped.bias and module.o_proj.bias is not None:
        state |= {"o_proj.bias": gqa.b_O}
    if family.grouped.qk_norm:
        state |= {"q_norm.weight": gqa.q_norm, "k_norm.weight": gqa.k_norm}
    return loaded(module, state)


def run_theirs(family, gqa, h, positions):
    config = their_config(family)
    windowed = family.grouped.sliding_window is not None
    make_mask = create_sliding_window_causal_mask if windowed else create_causal_mask
    mask = make_mask(config, h, attention_mask=None, past_key_values=None)
    given = {"hidden_states": h, "attention_mask": mask}
    if family.rotary:
        given["position_embeddings"] = angles(family.grouped.rope, HEAD, positions)
    return their_module(family, config, gqa)(**given)


@families
@pytest.mark.parametrize("start", [0, 3, 150], ids=["start", "offset", "beyond 64"])
@torch.no_grad()
def test_equals_the_module(family, start):
    gqa = randomized(GroupedQueryAttention(family.grouped, seed=6))
    if family.config is Qwen2Config:
        gqa.b_O.zero_()  # Qwen2 has biases only on q, k and v
    h, positions = hidden(2, 9, WIDTH, dtype=torch.float32), torch.arange(start, start + 9)
    u, attention = run_theirs(family, gqa, h, positions)
    trace = gqa(h, positions=positions)
    assert relative(trace.u, u) < 1e-5
    assert relative(trace.attention, attention) < 1e-5
    masked = torch.count_nonzero(attention[0, 0] == 0)
    assert masked == 9 * 9 - trace.mask.sum()


@rotating
def test_equals_the_family_s_own_rotary_embedding(family):
    """Float32 angles below 256 are off by at most 256 x 2^-23."""
    positions = torch.arange(256)
    theirs = family.rotary(their_config(family))(torch.zeros(1), positions[None])
    ours = rotation(family.grouped.rope, HEAD, positions)
    for got, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(
            got.float(), wanted[0, :, : HEAD // 2], rtol=0, atol=256 * 2**-23
        )
