"""A trained decoder at work: from a sentence through every block to the next word."""

from ui.pages.language_model import code, snippet
from ui.pages.language_model.controls import ONWARD
from ui.pages.language_model.inside import PAGES
from ui.pages.language_model.settings import SETTINGS
from ui.pages.language_model.view import mend
from ui.settings.page import Link, Page

PAGE = Page(
    name="language_model",
    group="explore",
    order=4,
    settings=SETTINGS,
    sizes=False,
    trained=True,
    lecture=("lm_model", "lm_temperature"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
    links=(*map(Link, PAGES), *ONWARD),
)
