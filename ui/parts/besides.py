"""Other layers of a published model, beside the one that stands for it."""

from mla_engine import mechanisms
from ui.settings.parsers import preset_of
from ui.words.numbers import TIED, count
from ui.words.text import listed, t, variant_name


def besides(key: str) -> list[str]:
    """A sentence each."""
    preset, said = preset_of(key), []
    if preset.beside:
        codes = [(mechanisms.of(config).variant(config).code, n) for config, n in preset.kinds]
        each = listed(f"{count(n)}{TIED}×{TIED}{variant_name(code)}" for code, n in codes)
        said.append(t("common.kinds", name=preset.name, each=each))
    if preset.not_modelled:
        gaps = [t(f"common.gap_{gap.replace(' ', '_')}") for gap in preset.not_modelled]
        said.append(t("common.not_modelled", name=preset.name, gaps="; ".join(gaps)))
    return said
