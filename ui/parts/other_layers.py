"""The sentences on layers of a published model other than the one that stands for it."""

from mla_engine import mechanisms
from ui.settings.parsers import preset_of
from ui.words.numbers import TIED, count
from ui.words.text import listed, t, variant_name


def other_layers(key: str) -> list[str]:
    """Return a sentence on a model's other layers, and one on what is not modelled of it."""
    preset, said = preset_of(key), []
    if preset.beside:
        codes = [(mechanisms.of(config).variant(config).code, n) for config, n in preset.kinds]
        each = listed(f"{count(n)}{TIED}×{TIED}{variant_name(code)}" for code, n in codes)
        said.append(t("common.kinds", name=preset.name, each=each))
    if preset.not_modelled:
        gaps = [t(f"common.gap_{gap.replace(' ', '_')}") for gap in preset.not_modelled]
        said.append(t("common.not_modelled", name=preset.name, gaps="; ".join(gaps)))
    return said
