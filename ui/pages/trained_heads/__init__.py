"""Trained heads: what they look at, and which answers break without one."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from mla_engine.language_model import cuts, questions
from mla_engine.language_model.heads import binding, deciding, looks, scores_of
from ui import ROOT
from ui.pages.trained_heads import answers, head_map, heads, real, run
from ui.pages.trained_heads import view as views
from ui.pages.trained_heads.real import RealView
from ui.pages.trained_heads.view import View
from ui.parts import examples
from ui.parts.snippet import Code
from ui.settings.page import Functions, Note, Page, Recipe, any_layer, joined, those
from ui.sources import checkpoint

OF_KIND = {
    "content": cuts.without_content,
    "rotary": cuts.without_rotary_key,
    "rank": cuts.within,
    "keys": cuts.TopKeys,
}

OWN = joined(heads.SETTINGS, answers.SETTINGS, head_map.SETTINGS)  # of the made-up language


def ran(view: View | RealView) -> Functions:
    """Return what runs the model and scores its heads, what cuts, and what asks."""
    if isinstance(view, RealView):
        return real.ran(view)
    scored = questions.uncut, scores_of, deciding, binding, looks
    if view.cut.heads:
        return *scored, questions.without
    return *scored, OF_KIND[view.cut.kind], questions.right


def recipe(view: View | RealView) -> Recipe:
    """Return the template that names the heads, and of a trained model cuts, and asks for answers.

    It asks text by text; the page has the same numbers, as `test_questions` tells.
    """
    if isinstance(view, RealView):
        return real.recipe(view)
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


def mend() -> list[Note]:
    """Bring what a link asks for to what there is in the model that reads."""
    return real.mend() if checkpoint.chosen() else views.mend()


PAGE = Page(
    name="trained_heads",
    group="explore",
    order=8,
    settings={name: replace(one, another_model=True) for name, one in OWN.items()},
    sizes=False,
    opens=partial(examples.opens, real.EXAMPLES),
    mechanisms=those(lambda kind: kind.reads_all),
    checkpoints=any_layer,
    every_kind=True,
    lecture=("th_head", "th_step", "layer", "map_head"),
    mend=mend,
    code=ran,
    snippet=recipe,
)
