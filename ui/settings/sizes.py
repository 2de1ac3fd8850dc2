"""The sizes that a preset stands for, as defaults beside it; the lengths of context offered."""

from collections.abc import Mapping
from functools import lru_cache

from mla_engine import LatentConfig, mechanisms
from ui.settings.parsers import SMALL, TRAINED, has_preset, preset_of
from ui.settings.shared import PUBLISHED

SMALL_CONFIG = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48, d_rope=8, latent_norm=True
)
SMALL_SIZES = mechanisms.sizes_of(SMALL_CONFIG) | {"n_kv_heads": 2}
SMALL_VARIANT = "mla"
MOST_TOKENS = 2**20  # of any context
CONTEXTS = tuple(2**n for n in range(6, 21))  # tokens over which caches are drawn
LENGTHS = CONTEXTS[4:]  # and those that can be chosen
KV_TYPES = "bf16", "fp8", "mxfp4", "q8_0", "q4_0"  # of the caches of whole models


def published(preset: str) -> str:
    """Return the preset whose sizes stand for this one: a published one for the trained models."""
    return PUBLISHED if preset == TRAINED else preset


def sizes_of(preset: str) -> dict[str, int]:
    """The shared sizes that a preset stands for, those of other mechanisms as they suggest them."""
    key = published(preset)
    return SMALL_SIZES if key == SMALL else mechanisms.sizes_of(preset_of(key).config)


def longest(*presets: str, most: int = MOST_TOKENS) -> int:
    """The greatest power of two up to `most` that one of the models was published for."""
    keys = map(published, presets)
    known = [preset_of(key).max_context or most for key in keys if has_preset(key)]
    return 1 << min(most, max(known, default=most)).bit_length() - 1


def divisors(n: int) -> list[int]:
    """The numbers of KV heads that n heads can share."""
    return [g for g in range(1, n + 1) if n % g == 0]


@lru_cache(maxsize=512)
def variant_of(preset: str) -> str:
    """The first variant that shows a preset."""
    if preset == SMALL:
        return SMALL_VARIANT
    config = preset_of(published(preset)).config
    return mechanisms.of(config).variant(config).code


@lru_cache(maxsize=512)
def implied(preset: str) -> Mapping[str, object]:
    """Return the sizes and the variant that a link means which only names a preset."""
    return sizes_of(preset) | {"variant": variant_of(preset)}
