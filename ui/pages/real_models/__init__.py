"""Real models: one attention of a checkpoint, its maps or state, matrices and kinds of heads."""

from ui.pages.real_models import code, snippet
from ui.pages.real_models.settings import SETTINGS
from ui.pages.real_models.view import mend
from ui.settings.page import ANY_LAYER, Page

PAGE = Page(
    name="real_models",
    group="explore",
    order=3,
    settings=SETTINGS,
    sizes=False,
    real_layers=ANY_LAYER,
    every_kind=True,
    lecture=("source", "layer", "map_head"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
    uploads=True,
)
