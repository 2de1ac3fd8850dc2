"""Quality: what a smaller cache costs in answers, measured on small models trained here."""

from ui.pages.quality import code, snippet
from ui.pages.quality.settings import SETTINGS
from ui.pages.quality.view import mend
from ui.settings.page import Page

PAGE = Page(
    name="quality",
    group="size",
    order=5,
    settings=SETTINGS,
    sizes=False,
    lecture=("quality_task", "quality_load"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
