"""Trained heads: what they look at, and which answers break without one."""

from ui.pages.trained_heads import code, snippet
from ui.pages.trained_heads.settings import SETTINGS
from ui.pages.trained_heads.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="trained_heads",
    group="explore",
    order=8,
    settings=SETTINGS,
    sizes=False,
    lecture=("th_head", "th_step"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
