"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

from ui.pages.compression import code, snippet
from ui.pages.compression.settings import SETTINGS
from ui.pages.compression.view import drawn, mend
from ui.settings.page import ANY_LAYER, Page, every

PAGE = Page(
    name="compression",
    group="explore",
    order=2,
    settings=SETTINGS,
    mechanisms=every("pooled", "delta"),
    real_layers=ANY_LAYER,
    trained=True,
    fresh_texts=True,
    drawn=drawn,
    lecture=("cmp_size", "cmp_rank", "cmp_weights"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
