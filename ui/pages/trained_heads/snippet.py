"""The snippet of the page trained_heads."""

from pathlib import Path

from ui import ROOT
from ui.pages.trained_heads import run, words
from ui.pages.trained_heads.view import View
from ui.parts.snippet import Code
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The snippet that names the heads, cuts, and asks for the answers.

    It asks text by text; the page has the same numbers, as `test_questions` tells.
    """
    counts = {"count": run.ASKED, "seed": run.SEED, "task": words.told(view)}
    return "trained_heads", counts | {"file": _file(Path(view.model.path)), "cut": _cut(view)}


def _file(path: Path) -> str:
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _cut(view: View) -> Code:
    cut = view.cut
    return Code(
        {
            "head": f"without_heads(model, {cut.layer}, {list(cut.heads)})",
            "namesakes": f"without_heads(model, {cut.layer}, {list(cut.heads)})",
            "content": "without_content(model)",
            "rotary": "without_rotary_key(model)",
            "rank": f"without_minor_directions(model, {cut.rank})",
            "keys": f"TopKeys(model, {cut.keys})",
        }[cut.kind]
    )
