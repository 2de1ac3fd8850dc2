"""The MLA modules of transformers: which configuration of ours equals each, and how it is run."""

from dataclasses import dataclass, field

import torch
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek_v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek_v3
from transformers.models.glm4_moe_lite import modeling_glm4_moe_lite as glm
from transformers.models.longcat_flash import modeling_longcat_flash as longcat
from transformers.models.minicpm3 import modeling_minicpm3 as minicpm3
from transformers.models.mistral4 import modeling_mistral4 as mistral4
from transformers.models.youtu import modeling_youtu as youtu

from mla_engine import LatentConfig, RopeConfig, YarnConfig
from mla_engine.config import LongRopeScaling
from tests import reference_rope

SIZES = {"d_model": 48, "n_heads": 4, "d_head": 12, "d_rope": 8, "d_value": 10, "latent_norm": True}
SHORT, LONG = (1.0, 1.1, 1.2, 1.3), (1.0, 2.0, 4.0, 9.0)


def yarn(factor, original, mscale):
    return YarnConfig(
        factor=factor, original_max_position=original, mscale=mscale, mscale_all_dim=mscale
    )


@dataclass(frozen=True)
class Family:
    """A module of transformers and the configuration of ours that should equal it."""

    module: type
    config: type
    rotary: type
    rope: RopeConfig = field(default_factory=RopeConfig)
    ours: dict = field(default_factory=dict)
    theirs: dict = field(default_factory=dict)

    @property
    def latent(self):
        sizes = SIZES | {"d_latent_kv": 16, "d_latent_q": 24} | self.ours
        return LatentConfig(rope=self.rope, **sizes)


FAMILIES = {
    "DeepSeek-V2": Family(
        deepseek_v2.DeepseekV2Attention,
        deepseek_v2.DeepseekV2Config,
        deepseek_v2.DeepseekV2RotaryEmbedding,
        RopeConfig(scaling=yarn(40.0, 64, 0.707)),
        ours={"d_latent_q": None},
    ),
    "DeepSeek-V3": Family(
        deepseek_v3.DeepseekV3Attention,
        deepseek_v3.DeepseekV3Config,
        deepseek_v3.DeepseekV3RotaryEmbedding,
        RopeConfig(scaling=yarn(40.0, 64, 1.0)),
        ours={"bias": True},
    ),
    "DeepSeek-V3 in halves": Family(
        deepseek_v3.DeepseekV3Attention,
        deepseek_v3.DeepseekV3Config,
        deepseek_v3.DeepseekV3RotaryEmbedding,
        RopeConfig(pairing="half"),
        theirs={"rope_interleave": False},
    ),
    "MiniCPM3": Family(
        minicpm3.MiniCPM3Attention,
        minicpm3.MiniCPM3Config,
        minicpm3.MiniCPM3RotaryEmbedding,
        RopeConfig(
            pairing="half",
            scaling=LongRopeScaling(
                short_factor=SHORT, long_factor=LONG, original_max_position=64, factor=4.0
            ),
        ),
    ),
    "GLM-4.7-Flash": Family(
        glm.Glm4MoeLiteAttention,
        glm.Glm4MoeLiteConfig,
        glm.Glm4MoeLiteRotaryEmbedding,
        RopeConfig(theta=1e6),
        ours={"d_value": 16},
    ),
    "LongCat-Flash": Family(
        longcat.LongcatFlashMLA,
        longcat.LongcatFlashConfig,
        longcat.LongcatFlashRotaryEmbedding,
        RopeConfig(theta=1e7),
        ours={"q_latent_scale": (48 / 24) ** 0.5, "kv_latent_scale": (48 / 16) ** 0.5},
        theirs={"head_dim": 8},
    ),
    "Mistral-Small-4": Family(
        mistral4.Mistral4Attention,
        mistral4.Mistral4Config,
        mistral4.Mistral4RotaryEmbedding,
        RopeConfig(scaling=yarn(128.0, 512, 1.0)),
    ),
    "Youtu": Family(
        youtu.YoutuAttention, youtu.YoutuConfig, youtu.YoutuRotaryEmbedding, RopeConfig(theta=1.6e6)
    ),
}


def rope_parameters(rope):
    """The rotation in transformers' words."""
    scaling = rope.scaling
    plain = {"rope_type": "default", "rope_theta": rope.theta}
    if scaling is None:
        return plain
    plain |= {"factor": scaling.factor}
    plain |= {"original_max_position_embeddings": scaling.original_max_position}
    if isinstance(scaling, LongRopeScaling):
        factors = {n: list(getattr(scaling, n)) for n in ("short_factor", "long_factor")}
        return plain | {"rope_type": "longrope"} | factors
    betas = {"beta_fast": scaling.beta_fast, "beta_slow": scaling.beta_slow}
    magnitudes = {"mscale": scaling.mscale, "mscale_all_dim": scaling.mscale_all_dim}
    return plain | {"rope_type": "yarn", "llama_4_scaling_beta": 0.1} | betas | magnitudes


def their_config(family, **changes):
    c = family.latent
    parameters = rope_parameters(family.rope)
    if family.config is not mistral4.Mistral4Config:
        parameters.pop("llama_4_scaling_beta", None)
    config = family.config(
        hidden_size=c.d_model,
        num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_heads,
        q_lora_rank=c.d_latent_q,
        kv_lora_rank=c.d_latent_kv,
        qk_nope_head_dim=c.d_head,
        qk_rope_head_dim=c.d_rope,
        v_head_dim=c.d_value,
        attention_bias=c.bias,
        max_position_embeddings=256,
        rope_parameters=parameters,
        **(family.theirs | changes),
    )
    config._attn_implementation = "eager"
    return config


def their_module(family, mla, **changes):
    """Their module with our weights: per head [nope, rope] and [key, value], [latent, rope]."""
    module = family.module(their_config(family, **changes), layer_idx=0)
    queries = torch.cat((mla.W_UQ, mla.W_QR), dim=1).flatten(0, 1)
    state = {
        "kv_a_proj_with_mqa.weight": torch.cat((mla.W_DKV, mla.W_KR)),
        "kv_a_layernorm.weight": mla.c_KV_norm,
        "kv_b_proj.weight": torch.cat((mla.W_UK, mla.W_UV), dim=1).flatten(0, 1),
        "o_proj.weight": mla.W_O.flatten(1),
    }
    if family.latent.d_latent_q:
        state |= {"q_a_proj.weight": mla.W_DQ, "q_a_layernorm.weight": mla.c_Q_norm}
        state |= {"q_b_proj.weight": queries}
    else:
        state |= {"q_proj.weight": queries}
    if family.latent.bias:
        state |= {"q_a_proj.bias": mla.b_DQ, "o_proj.bias": mla.b_O}
        state |= {"kv_a_proj_with_mqa.bias": torch.cat((mla.b_DKV, mla.b_KR))}
    module.load_state_dict(state)
    return module.eval()


def angles(family, positions):
    """cos and sin as the family takes them, made pair by pair in float64 and cast."""
    rope, width = family.rope, family.latent.d_rope
    length = int(positions.max()) + 1
    turns = torch.tensor(
        [reference_rope.frequency(rope, width, i, length) for i in range(width // 2)],
        dtype=torch.float64,
    )
    phase, stretch = positions[None, :, None] * turns, reference_rope.stretch(rope)
    if family.module is deepseek_v2.DeepseekV2Attention:
        return (torch.polar(torch.ones_like(phase), phase) * stretch).to(torch.complex64)
    phase = torch.cat((phase, phase), dim=-1)
    return (phase.cos() * stretch).float(), (phase.sin() * stretch).float()


def run_theirs(family, module, h, positions, cache=None):
    tokens = h.shape[1]
    mask = torch.full((tokens, tokens), -torch.inf).triu(1)[None, None]
    embeddings = angles(family, positions)
    embeddings = tuple(embeddings) if isinstance(embeddings, tuple) else embeddings
    return module(
        hidden_states=h,
        position_embeddings=embeddings,
        attention_mask=mask,
        past_key_values=cache,
        position_ids=positions[None],
    )
