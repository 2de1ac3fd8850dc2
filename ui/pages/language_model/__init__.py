"""A trained decoder at work: from a sentence through every block to the next word."""

from mla_engine.language_model import Block, LanguageModel, chosen
from ui.engine import trained
from ui.pages.language_model.controls import ONWARD, SETTINGS
from ui.pages.language_model.inside import PAGES
from ui.pages.language_model.view import View, mend
from ui.settings.page import Functions, Link, Page, Recipe


def ran(_view: View) -> Functions:
    """Return the decoder's forward pass, a block of it, and how the next word is chosen."""
    return LanguageModel.forward, Block.forward, Block.mlp, chosen


def recipe(view: View) -> Recipe:
    """Return the template that runs the text through the model's file."""
    file = f"{trained.NAMED}/{trained.file(view.trained.code).name}"
    return "next_word", {"file": file, "text": view.text, "temperature": view.temperature}


PAGE = Page(
    name="language_model",
    group="explore",
    order=4,
    settings=SETTINGS,
    sizes=False,
    trained=True,
    lecture=("lm_model", "lm_temperature"),
    mend=mend,
    code=ran,
    snippet=recipe,
    links=(*map(Link, PAGES), *ONWARD),
)
