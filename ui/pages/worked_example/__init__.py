"""Worked example: every published step of MLA and MHA, exact, beside the printed figures."""

from ui.pages.worked_example import code, snippet
from ui.pages.worked_example.settings import SETTINGS
from ui.pages.worked_example.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="worked_example",
    group="understand",
    order=2,
    settings=SETTINGS,
    sizes=False,
    lecture=("we_variant", "we_step"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
