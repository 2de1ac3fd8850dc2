"""After MLA: what makes a cache small, over published models, and what is stored against read."""

from ui.pages.after_mla import code, snippet
from ui.pages.after_mla.settings import SETTINGS
from ui.settings.page import Page

PAGE = Page(
    name="after_mla",
    group="size",
    order=6,
    settings=SETTINGS,
    sizes=False,
    lecture=("am_model", "am_kv"),
    code=code.ran,
    snippet=snippet.recipe,
    uploads=True,
)
