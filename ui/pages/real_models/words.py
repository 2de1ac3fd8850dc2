"""The sentences of the page where no layer is chosen."""

from mla_engine.checkpoints.families import FAMILIES
from ui.words.text import t


def families() -> str:
    """The model_types that can be read, as they stand in config.json."""
    return t("real_models.families", families=", ".join(f"`{name}`" for name in FAMILIES))
