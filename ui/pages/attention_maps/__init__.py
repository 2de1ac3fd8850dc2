"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from."""

from ui.pages.attention_maps import code, snippet
from ui.pages.attention_maps.settings import SETTINGS
from ui.pages.attention_maps.view import mend
from ui.settings.page import ANY_LAYER, Page

PAGE = Page(
    name="attention_maps",
    group="explore",
    order=1,
    settings=SETTINGS,
    real_layers=ANY_LAYER,
    every_kind=True,
    trained=True,
    lecture=("map_head", "map_query"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
