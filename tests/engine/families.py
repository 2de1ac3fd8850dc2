"""Modules of transformers with our weights: what ours are called there, and how MLA's are run."""

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
    return plain | {"rope_type": "yarn"} | betas | magnitudes


def config_of(kind, c, attention="eager", **more):
    """The sizes of an MLA, with an indexer or without, as a configuration of transformers."""
    sizes = {
        "hidden_size": c.d_model, "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_heads, "q_lora_rank": c.d_latent_q,
        "kv_lora_rank": c.d_latent_kv, "qk_nope_head_dim": c.d_head, "qk_rope_head_dim": c.d_rope,
        "v_head_dim": c.d_value, "attention_bias": c.bias,
    }  # fmt: skip
    if c.chooses_keys:
        sizes |= {"num_hidden_layers": 2, "index_n_heads": c.n_index_heads}
        sizes |= {"index_head_dim": c.d_index, "index_topk": c.index_topk}
    config = kind(**(sizes | more))
    config._attn_implementation = attention
    return config


def state_of(layer):
    """Our weights under their names: per head [nope, rope] and [key, value], [latent, rope]."""
    c = layer.config
    queries = (layer.W_UQ, layer.W_QR) if c.d_rope else (layer.W_UQ,)
    queries = torch.cat(queries, dim=1).flatten(0, 1)
    state = {
        "kv_a_proj_with_mqa.weight": torch.cat(with_rotary(layer.W_DKV, layer.W_KR)),
        "kv_a_layernorm.weight": layer.c_KV_norm,
        "kv_b_proj.weight": torch.cat((layer.W_UK, layer.W_UV), dim=1).flatten(0, 1),
        "o_proj.weight": layer.W_O.flatten(1),
    }
    if c.d_latent_q:
        state |= {"q_a_proj.weight": layer.W_DQ, "q_a_layernorm.weight": layer.c_Q_norm}
        state |= {"q_b_proj.weight": queries}
    else:
        state |= {"q_proj.weight": queries}
    if c.bias:
        state |= {"q_a_proj.bias": layer.b_DQ, "o_proj.bias": layer.b_O}
        state |= {"kv_a_proj_with_mqa.bias": torch.cat(with_rotary(layer.b_DKV, layer.b_KR))}
    if getattr(layer, "W_IQ", None) is not None:
        state |= {
            "indexer.wq_b.weight": layer.W_IQ.flatten(0, 1),
            "indexer.wk.weight": layer.W_IK,
            "indexer.k_norm.weight": layer.k_I_norm,
            "indexer.k_norm.bias": layer.b_IK,
            "indexer.weights_proj.weight": layer.W_IW,
        }
    return state


def with_rotary(latent, rotary):
    """Return what makes a latent and a rotary key, where there is such a key."""
    return (latent,) if rotary is None else (latent, rotary)


def loaded(module, state, dtype=torch.float32):
    """Their module with these weights, to be run."""
    module = module.to(dtype).eval().requires_grad_(False)
    shapes = {name: p.shape for name, p in module.state_dict().items()}
    module.load_state_dict({name: p.reshape(shapes[name]) for name, p in state.items()})
    return module


def their_module(family, mla, **changes):
    """The module of a family of MLA with our weights."""
    return loaded(family.module(their_config(family, **changes), layer_idx=0), state_of(mla))


def their_config(family, **changes):
    parameters = rope_parameters(family.rope)
    if family.config is mistral4.Mistral4Config:
        parameters |= {"llama_4_scaling_beta": 0.1}
    more = {"max_position_embeddings": 256, "rope_parameters": parameters}
    return config_of(family.config, family.latent, **(more | family.theirs | changes))


def phases(rope, width, positions):
    """The angle of each pair [1,t,width/2], made pair by pair in float64."""
    length = int(positions.max()) + 1
    turns = [reference_rope.frequency(rope, width, i, length) for i in range(width // 2)]
    return positions[None, :, None] * torch.tensor(turns, dtype=torch.float64)


def angles(rope, width, positions, dtype=torch.float32):
    """cos and sin of each pair twice, stretched and cast, as most modules take them."""
    phase, stretch = phases(rope, width, positions).repeat(1, 1, 2), reference_rope.stretch(rope)
    return (phase.cos() * stretch).to(dtype), (phase.sin() * stretch).to(dtype)


def causal_mask(h, held=0):
    """0 where a new token sees one of those held or an earlier new one, else -inf [b,1,t,s]."""
    new = h.shape[1]
    mask = torch.full((new, held + new), -torch.inf, dtype=h.dtype).triu(held + 1)
    return mask.expand(len(h), 1, -1, -1)


def run_theirs(family, module, h, positions, cache=None):
    rope, width = family.rope, family.latent.d_rope
    embeddings = angles(rope, width, positions)
    if family.module is deepseek_v2.DeepseekV2Attention:
        phase = phases(rope, width, positions)
        turned = torch.polar(torch.ones_like(phase), phase) * reference_rope.stretch(rope)
        embeddings = turned.to(torch.complex64)
    return module(
        hidden_states=h,
        position_embeddings=embeddings,
        attention_mask=causal_mask(h),
        past_key_values=cache,
        position_ids=positions[None],
    )


def gap(scores, chosen, seen):
    """Return how far the lowest chosen score lies above the highest that could have been."""
    last = scores.masked_fill(~chosen, torch.inf).amin(-1)
    first = scores.masked_fill(chosen | ~seen, -torch.inf).amax(-1)
    return float((last - first).min())
