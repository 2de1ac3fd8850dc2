"""Trained heads: what they look at, and which answers break without one."""

from pathlib import Path

from mla_engine.language_model import cuts, questions
from mla_engine.language_model.heads import binding, deciding, looks, scores_of
from ui import ROOT
from ui.pages.trained_heads import answers, head_map, heads, run
from ui.pages.trained_heads.view import View, mend
from ui.parts.snippet import Code
from ui.settings.page import Functions, Page, Recipe, joined

OF_KIND = {
    "content": cuts.without_content,
    "rotary": cuts.without_rotary_key,
    "rank": cuts.within,
    "keys": cuts.TopKeys,
}


def ran(view: View) -> Functions:
    """Return what runs the model and scores its heads, what cuts, and what asks."""
    scored = questions.uncut, scores_of, deciding, binding, looks
    if view.cut.heads:
        return *scored, questions.without
    return *scored, OF_KIND[view.cut.kind], questions.right


def recipe(view: View) -> Recipe:
    """Return the template that names the heads, cuts, and asks for the answers.

    It asks text by text; the page has the same numbers, as `test_questions` tells.
    """
    cut, path = view.cut, Path(view.model.path)
    changed = {
        "head": f"without_heads(model, {cut.layer}, {list(cut.heads)})",
        "namesakes": f"without_heads(model, {cut.layer}, {list(cut.heads)})",
        "content": "without_content(model)",
        "rotary": "without_rotary_key(model)",
        "rank": f"without_minor_directions(model, {cut.rank})",
        "keys": f"TopKeys(model, {cut.keys})",
    }
    return "trained_heads", {
        "file": str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path),
        "count": run.ASKED,
        "seed": run.SEED,
        "cut": Code(changed[cut.kind]),
        "task": answers.told(view),
    }


PAGE = Page(
    name="trained_heads",
    group="explore",
    order=8,
    settings=joined(heads.SETTINGS, answers.SETTINGS, head_map.SETTINGS),
    sizes=False,
    lecture=("th_head", "th_step"),
    mend=mend,
    code=ran,
    snippet=recipe,
)
