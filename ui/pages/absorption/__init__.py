"""Absorption: the order of multiplication, the merged matrices, and what must not be merged."""

from ui.pages.absorption import code, snippet
from ui.pages.absorption.places import CLAIMS
from ui.pages.absorption.settings import SETTINGS
from ui.pages.absorption.view import mend
from ui.settings.page import LATENT_LAYER, Page, every

PAGE = Page(
    name="absorption",
    group="understand",
    order=4,
    settings=SETTINGS,
    mechanisms=every("pooled", "delta"),
    real_layers=LATENT_LAYER,
    trained=True,
    lecture=("ab_side", "ab_queries"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
    links=tuple(CLAIMS.values()),
)
