"""The snippet of the page real_models."""

from mla_engine import GroupedConfig
from ui.engine import model
from ui.engine import real_layer as source
from ui.parts.snippet_layer import made
from ui.settings.page import Recipe
from ui.words.text import t


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    if not source.chosen():
        raise ValueError(t("source.what"))
    of = model.config()
    template = "grouped" if isinstance(of, GroupedConfig) else "latent"
    return template, made(model.present(), of, None)
