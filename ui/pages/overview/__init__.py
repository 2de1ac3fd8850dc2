"""Overview: what MLA is for, what flows through it, and what it saves at the chosen sizes."""

from ui.pages.overview import code, snippet
from ui.settings.page import Page

PAGE = Page(
    name="overview",
    group="understand",
    order=1,
    lecture=("variant", "preset"),
    code=code.ran,
    snippet=snippet.recipe,
)
