"""Small models of every mechanism, and a text for them."""

from dataclasses import replace

import torch

from mla_engine import GroupedConfig, LatentConfig, RopeConfig
from mla_engine.language_model import LanguageModel, ModelConfig

WORDS = ("anna", "ben", "cleo", "has", "a", "lamp", "cup", "drum", ".", "(", ")", "the", "dog")
WORDS += ("dogs", "is", "are")
ROPE = RopeConfig()
MLA = LatentConfig(
    d_model=24, n_heads=3, d_head=8, d_value=6, d_latent_kv=10, d_latent_q=14, d_rope=4,
    latent_norm=True, rope=ROPE,
)  # fmt: skip
GQA = GroupedConfig(d_model=24, n_heads=4, n_kv_heads=2, d_head=6, rope=ROPE)
ATTENTIONS = {
    "mla": MLA,
    "mla without a query latent": replace(MLA, d_latent_q=None),
    "mla without rotation": replace(MLA, d_rope=0),
    "gqa": GQA,
    "mqa": replace(GQA, n_kv_heads=1),
    "windowed": replace(GQA, sliding_window=3),
    "capped": replace(GQA, logit_softcap=2.0),
}


def config(attention: object) -> ModelConfig:
    return ModelConfig(words=WORDS, attention=attention, n_layers=2, d_mlp=20, max_context=16)


def model(attention: object, dtype: torch.dtype = torch.float64) -> LanguageModel:
    return LanguageModel(config(attention), seed=4, dtype=dtype)


def text(batch: int = 2, length: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(batch * length)
    return torch.randint(len(WORDS), (batch, length), generator=generator)
