"""Decode: one token after another, what each way of caching holds, reads, computes and takes."""

from ui.pages.decode import code, snippet
from ui.pages.decode.settings import SETTINGS
from ui.pages.decode.view import mend
from ui.settings.page import ANY_LAYER, Page

PAGE = Page(
    name="decode",
    group="size",
    order=2,
    settings=SETTINGS,
    real_layers=ANY_LAYER,
    trained=True,
    lecture=("dec_prompt", "dec_speed"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
