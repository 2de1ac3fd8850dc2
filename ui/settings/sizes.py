"""The sizes that a preset stands for: they are the defaults of the size settings beside it."""

from mla_engine import PRESETS, GroupedConfig, LatentConfig
from ui.settings.parsers import SMALL
from ui.settings.shared import SIZES

SMALL_SIZES = {
    "d_model": 64,
    "n_heads": 4,
    "n_kv_heads": 2,
    "d_head": 16,
    "d_value": 16,
    "d_latent_kv": 32,
    "d_latent_q": 48,
    "d_rope": 8,
}


def sizes_of(preset: str) -> dict[str, int]:
    """The shared sizes that a preset stands for.

    A grouped model has no latents; its MLA gets them by the paper's rule, d_c = 4 d_h and
    d_R = d_h / 2 (DeepSeek-V2, section 2.1.4).
    """
    return SMALL_SIZES if preset == SMALL else sizes_from(PRESETS[preset].config)


def sizes_from(config: GroupedConfig | LatentConfig) -> dict[str, int]:
    """The same of a configuration."""
    own = {name: getattr(config, name, None) or 0 for name in SIZES}
    if isinstance(config, LatentConfig):
        return own | {"n_kv_heads": max(g for g in divisors(config.n_heads) if g <= 8)}
    return own | {"d_latent_kv": 4 * config.d_head, "d_rope": config.d_head // 2 // 2 * 2}


def divisors(n: int) -> list[int]:
    """The numbers of KV heads that n heads can share."""
    return [g for g in range(1, n + 1) if n % g == 0]


def implied(preset: str) -> dict[str, object]:
    """What a link that names a preset and nothing else means: its sizes and its variant."""
    kind = "mla" if preset == SMALL else PRESETS[preset].kind.lower()
    return sizes_of(preset) | {"variant": kind}
