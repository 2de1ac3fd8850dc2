"""The code behind the page trained_heads."""

from mla_engine.language_model import cuts, heads
from ui.pages.trained_heads.view import View
from ui.settings.page import Functions

OF_KIND = {
    "head": cuts.without_head,
    "content": cuts.without_content,
    "rotary": cuts.without_rotary_key,
    "rank": cuts.without_minor_directions,
    "keys": cuts.TopKeys,
}


def ran(view: View) -> Functions:
    """What scores the heads, what cuts, and what asks for the answers."""
    return heads.head_scores, heads.deciding, heads.looks, OF_KIND[view.cut.kind], cuts.effect
