"""A decoder at work: from a sentence through every layer to the next word."""

from mla_engine.language_model import Block, LanguageModel, chosen, lens, reading
from ui.pages.language_model.controls import ONWARD, SETTINGS
from ui.pages.language_model.inside import PAGES
from ui.pages.language_model.real import sentences
from ui.pages.language_model.real.view import View as Real
from ui.pages.language_model.view import View, mend
from ui.settings import state
from ui.settings.page import Functions, Link, Page, Recipe
from ui.sources import trained


def ran(view: View | Real) -> Functions:
    """Return what ran: a forward pass with a block of it, and how the next word is chosen."""
    if isinstance(view, Real):
        return reading.read, Block.forward, lens.read_out, chosen
    return LanguageModel.forward, Block.forward, Block.mlp, chosen


def recipe(view: View | Real) -> Recipe:
    """Return the template that runs the text through the model's file, or the real model's."""
    values = {"text": view.text, "temperature": view.temperature}
    if isinstance(view, Real):
        return "next_word_real", {"folder": state.source()} | values
    file = f"{trained.NAMED}/{trained.file(view.trained.code).name}"
    return "next_word", {"file": file} | values


PAGE = Page(
    name="language_model",
    group="explore",
    order=4,
    settings=SETTINGS,
    sizes=False,
    opens=sentences.opens,
    trained=True,
    lecture=("lm_model", "lm_temperature"),
    mend=mend,
    code=ran,
    snippet=recipe,
    links=(*map(Link, PAGES), *ONWARD),
)
