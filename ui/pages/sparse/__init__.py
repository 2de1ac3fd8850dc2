"""Sparse attention: a small indexer scores every key, and few are read."""

from ui.pages.sparse import code, snippet
from ui.pages.sparse.settings import SETTINGS
from ui.pages.sparse.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="sparse",
    group="explore",
    order=5,
    settings=SETTINGS,
    sizes=False,
    trained=True,
    lecture=("sp_keys", "sp_back"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
