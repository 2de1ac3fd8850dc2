"""Absorption: the order of multiplication, the merged matrices, and what must not be merged."""

from mla_engine.latent import AbsorbedMatrices, forms
from mla_engine.studies import merging
from mla_engine.studies.agreement import agreement_of
from mla_engine.studies.bracketing import Bracketing, bracketings
from ui.pages.absorption import brackets, merged, merges, rounding
from ui.pages.absorption.view import View, mend
from ui.parts.snippet import made
from ui.settings.page import Functions, Page, Recipe, joined, mla_layer, those


def ran(_view: View) -> Functions:
    """Return the most telling of the engine's functions that ran for any view."""
    return (
        bracketings,
        Bracketing.multiply_adds.fget,
        AbsorbedMatrices.of,
        agreement_of,
        forms.attend,
        forms.absorbed,
        merging.heads_in_one,
        merging.past_the_norm,
    )


def recipe(view: View) -> Recipe:
    """Return the snippet that makes the page's headline numbers."""
    chosen = view.chosen
    return "absorption", made(view.model, view.config, [chosen.head]) | {
        "side": chosen.side,
        "queries": chosen.queries,
        "keys": chosen.context + chosen.queries,
    }


PAGE = Page(
    name="absorption",
    group="understand",
    order=4,
    settings=joined(brackets.SETTINGS, merged.SETTINGS, rounding.SETTINGS, merges.SETTINGS),
    mechanisms=those(lambda kind: kind.in_full),
    checkpoints=mla_layer,
    trained=True,
    lecture=("ab_side", "ab_queries"),
    mend=mend,
    code=ran,
    snippet=recipe,
    links=tuple(merges.CLAIMS.values()),
)
