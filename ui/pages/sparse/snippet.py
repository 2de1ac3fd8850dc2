"""The snippet of the page sparse."""

from ui.engine import trained
from ui.pages.sparse import run
from ui.pages.sparse.view import View
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that asks the model with so many keys, and with all of them."""
    file = f"{trained.NAMED}/{trained.file(run.CODE).name}"
    return "sparse", {"file": file, "keys": view.keys, "count": run.ASKED, "seed": run.SEED}
