"""Small models of every mechanism, and a text for them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from mla_engine import GroupedConfig, LatentConfig, RopeConfig
from mla_engine.language_model import LanguageModel, ModelConfig, load_model, texts

FOLDER = Path(__file__).parents[2] / "assets" / "trained"

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


def of_words(attention: object, seed: int = 4, n_layers: int = 2) -> LanguageModel:
    """A model of the language that the tasks are written in."""
    sizes = {"words": texts.WORDS, "n_layers": n_layers, "d_mlp": 8, "max_context": 64}
    config = ModelConfig(attention=attention, **sizes)
    return LanguageModel(config, seed=seed, dtype=torch.float64)


@cache
def shipped(code: str) -> tuple[LanguageModel, dict]:
    """A model that comes with the app, and its card."""
    return load_model(FOLDER / f"{code}.safetensors")


def tokens_of(decoder: LanguageModel, one: Sequence[texts.Word]) -> torch.Tensor:
    """The words of a text as one row of tokens."""
    return torch.tensor([decoder.config.tokens(" ".join(word.word for word in one))])


def in_pieces(
    decoder: LanguageModel,
    tokens: torch.Tensor,
    pieces: Sequence[int],
    kind: str | None = None,
    form: str | None = None,
) -> torch.Tensor:
    """The logits of a text that is read piece by piece into caches."""
    caches, parts = decoder.empty_caches(kind, batch=len(tokens)), []
    for piece in tokens.split(list(pieces), dim=1):
        trace, caches = decoder.decode(piece, caches, form)
        parts.append(trace.logits)
    assert {cache.length for cache in caches} == {tokens.shape[1]}
    return torch.cat(parts, 1)


def text(batch: int = 2, length: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(batch * length)
    return torch.randint(len(WORDS), (batch, length), generator=generator)
