"""KV cache: what each way of attending keeps, where it fits, and how it is counted."""

from ui.pages.kv_cache import code
from ui.pages.kv_cache.settings import SETTINGS
from ui.pages.kv_cache.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="kv_cache",
    group="size",
    order=1,
    settings=SETTINGS,
    sizes=False,
    lecture=("kv_view", "kv_context"),
    mend=mend,
    code=code.ran,
    snippet=code.recipe,
    uploads=True,
)
