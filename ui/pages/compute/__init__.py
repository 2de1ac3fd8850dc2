"""Compute: what every variant and form costs, on which side of a device's ridge, and from where."""

from ui.pages.compute import code, snippet
from ui.pages.compute.settings import SETTINGS
from ui.pages.compute.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="compute",
    group="size",
    order=3,
    settings=SETTINGS,
    lecture=("cost_phase", "cost_queries"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
