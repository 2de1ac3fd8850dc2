"""The code behind the page trained_heads."""

from mla_engine.language_model import cuts, heads, questions
from ui.pages.trained_heads.view import View
from ui.settings.page import Functions

OF_KIND = {
    "content": cuts.without_content,
    "rotary": cuts.without_rotary_key,
    "rank": cuts.within,
    "keys": cuts.TopKeys,
}


def ran(view: View) -> Functions:
    """Return what runs the model and scores its heads, what cuts, and what asks."""
    scored = questions.uncut, heads.scores_of, heads.deciding, heads.binding, heads.looks
    if view.cut.heads:
        return *scored, questions.without
    return *scored, OF_KIND[view.cut.kind], questions.right
