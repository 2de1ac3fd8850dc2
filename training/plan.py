"""The models that are trained: the variants, the steps from MHA to MLA, and how often each."""

from dataclasses import dataclass, replace

from mla_engine import GroupedConfig, LatentConfig, RopeConfig, costs
from mla_engine.config import AttentionConfig
from mla_engine.indexed import IndexedConfig
from mla_engine.language_model import ModelConfig
from mla_engine.language_model.texts import LENGTH, WORDS

SEEDS, SEEDS_OF_PAIRS = 3, 5
ROPE = RopeConfig()
MHA = GroupedConfig(d_model=64, n_heads=4, n_kv_heads=4, d_head=16, rope=ROPE)
MLA = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=24, d_rope=8, latent_norm=True, rope=ROPE
)
DENSE, INDEXED = "mla", "dsa"
"""The model that gets an indexer, and what it is then called."""
DSA = IndexedConfig(**vars(MLA), n_index_heads=2, d_index=16, index_topk=4)


@dataclass(frozen=True)
class Variant:
    """An attention that is trained.

    Attributes:
        code: names it in files, links and texts.
        attention: of every layer.
        seeds: models of other first weights and other texts.
        shipped: whether the app shows its first model.
        watched: whether the app shows how that model came about, too.
    """

    code: str
    attention: AttentionConfig
    seeds: int = SEEDS
    shipped: bool = False
    watched: bool = False

    @property
    def cached(self) -> int:
        """Numbers a token and layer that its cache keeps."""
        return costs.cache_elements(self.attention)


VARIANTS = {
    variant.code: variant
    for variant in (
        Variant("mha", MHA, shipped=True, watched=True),
        Variant("gqa", replace(MHA, n_kv_heads=2), SEEDS_OF_PAIRS, shipped=True),
        Variant("mla_64", replace(MLA, d_latent_kv=48, d_rope=16), SEEDS_OF_PAIRS),
        Variant("mqa", replace(MHA, n_kv_heads=1), SEEDS_OF_PAIRS, shipped=True),
        Variant("mla", MLA, SEEDS_OF_PAIRS, shipped=True, watched=True),
        Variant("mla_16", replace(MLA, d_latent_kv=8)),
        Variant("mla_nope", replace(MLA, d_latent_kv=32, d_rope=0), shipped=True),
        Variant("mha_partial", replace(MHA, d_rotated=8)),
        Variant("mha_nope", replace(MHA, rope=None)),
        Variant("mla_queries", replace(MLA, d_latent_q=32)),
    )
}
CACHES = ("mha", "gqa", "mla_64", "mqa", "mla", "mla_16")
"""Shared heads and latents, which differ in the size of their caches, the largest first."""
STAIRCASE = ("mha", "mha_nope", "mla_nope", "mla", "mla_queries")
"""From MHA to MLA: no rotation, a latent for keys and values, the rotary key, one for queries."""


def model_config(variant: Variant) -> ModelConfig:
    """Return the whole decoder around an attention."""
    sizes = {"n_layers": 2, "d_mlp": 128, "max_context": LENGTH}
    return ModelConfig(words=WORDS, attention=variant.attention, **sizes)


@dataclass(frozen=True)
class Run:
    """One model to be trained."""

    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.variant.code}-{self.seed}"


def runs() -> list[Run]:
    """Return every run, the first seeds of all variants first, which a stopped study then has."""
    most = max(variant.seeds for variant in VARIANTS.values())
    return [
        Run(variant, seed)
        for seed in range(most)
        for variant in VARIANTS.values()
        if seed < variant.seeds
    ]
