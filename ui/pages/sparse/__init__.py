"""Sparse attention: a small indexer scores every key, and few are read."""

from mla_engine import costs
from mla_engine.indexed import forms, indexer
from mla_engine.language_model import sparse
from mla_engine.language_model.sparse import KEYS
from ui.pages.sparse import published
from ui.pages.sparse.view import ASKED, CODE, SEED, View, nearest
from ui.settings.page import Functions, Page, Recipe, joined
from ui.settings.parsers import MOST_WORDS, Setting, whole
from ui.sources import trained

SETTINGS = {
    "sp_keys": Setting(8, whole(KEYS[0], KEYS[-1]), "select_slider", options=KEYS, recorded=True),
    # Words from the end to the one that asks.
    "sp_back": Setting(0, whole(0, MOST_WORDS - 1), "selectbox", "sparse.query"),
    # Of two layers, the one whose heads look at more words than the other's.
    "sp_layer": Setting(0, whole(0, 1), "segmented_control"),
}


def ran(_view: View) -> Functions:
    """Return what scores and chooses keys, what is left out, and what counts the answers."""
    return (
        indexer.index_queries,
        indexer.index_keys,
        indexer.indexed,
        indexer.choice,
        forms.left_out,
        sparse.Sparse.over_choice,
        sparse.looks,
        sparse.answered,
        costs.decode,
    )


def recipe(view: View) -> Recipe:
    """The template that asks the model with so many keys, and with all of them."""
    file = f"{trained.NAMED}/{trained.file(CODE).name}"
    return "sparse", {"file": file, "keys": view.chosen.keys, "count": ASKED, "seed": SEED}


PAGE = Page(
    name="sparse",
    group="explore",
    order=5,
    settings=joined(SETTINGS, published.SETTINGS),
    sizes=False,
    trained=True,
    lecture=("sp_keys", "sp_back"),
    mend=nearest,
    code=ran,
    snippet=recipe,
)
