"""The code behind the page language_model."""

from mla_engine.language_model import Block, LanguageModel, chosen
from ui.pages.language_model.view import View
from ui.settings.page import Functions


def ran(_view: View) -> Functions:
    """The decoder's forward pass, a block of it, and how the next word is chosen."""
    return LanguageModel.forward, Block.forward, Block.mlp, chosen
