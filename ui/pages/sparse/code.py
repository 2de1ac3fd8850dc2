"""The code behind the page sparse."""

from mla_engine import costs
from mla_engine.indexed import forms, indexer
from mla_engine.language_model import sparse
from ui.pages.sparse.view import View
from ui.settings.page import Functions


def ran(_view: View) -> Functions:
    """What scores and chooses keys, what is left out, and what counts the answers."""
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
