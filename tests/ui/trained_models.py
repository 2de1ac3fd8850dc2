"""Write small seeded models into a folder, in the place of the trained ones."""

from dataclasses import replace
from pathlib import Path

from mla_engine import GroupedConfig, LatentConfig, RopeConfig
from mla_engine.indexed import IndexedConfig
from mla_engine.language_model import LanguageModel, ModelConfig, save_model
from mla_engine.language_model.texts import WORDS

ROPE = RopeConfig()
MHA = GroupedConfig(d_model=24, n_heads=4, n_kv_heads=4, d_head=6, rope=ROPE)
MLA = LatentConfig(
    d_model=24, n_heads=4, d_head=6, d_latent_kv=9, d_rope=4, latent_norm=True, rope=ROPE
)
VARIANTS = {
    "mha": MHA,
    "gqa": replace(MHA, n_kv_heads=2),
    "dsa": IndexedConfig(**vars(MLA), n_index_heads=2, d_index=8, index_topk=4),
    "mqa": replace(MHA, n_kv_heads=1),
    "mla": MLA,
    "mla_nope": replace(MLA, d_latent_kv=13, d_rope=0),
}
CACHED = {"mha": 48, "gqa": 24, "dsa": 21, "mqa": 12, "mla": 13, "mla_nope": 13}
"""2 n_g d_h numbers per token and layer, or d_c + d_R, and d_I beside them."""
LAYERS, TRAINED_ON = 2, 12


def model(code: str, seed: int = 3) -> LanguageModel:
    """Build a variant's model; its large embedding makes some words much likelier than others."""
    sizes = {"n_layers": LAYERS, "d_mlp": 20, "max_context": TRAINED_ON}
    made = LanguageModel(ModelConfig(words=WORDS, attention=VARIANTS[code], **sizes), seed=seed)
    made.W_E.data *= 2
    return made


def write(folder: Path, *codes: str) -> None:
    """Write the files of these variants, or of all."""
    for code in codes or VARIANTS:
        save_model(model(code), folder / f"{code}.safetensors", {"variant": code})
