"""Compare: any two layers side by side, and what differs between them."""

from ui.pages.compare import code, snippet
from ui.pages.compare.settings import SETTINGS
from ui.pages.compare.view import mend
from ui.settings.page import ANY_LAYER, Page

PAGE = Page(
    name="compare",
    group="size",
    order=4,
    settings=SETTINGS,
    real_layers=ANY_LAYER,
    every_kind=True,
    trained=True,
    lecture=("vs_view", "vs_right"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
