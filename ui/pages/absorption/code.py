"""The code behind the page absorption."""

from mla_engine.latent import AbsorbedMatrices, forms
from mla_engine.studies import merging
from mla_engine.studies.agreement import agreement_of
from mla_engine.studies.bracketing import Bracketing, bracketings
from ui.pages.absorption.view import View
from ui.settings.page import Functions


def ran(_view: View) -> Functions:
    """The most telling of the engine's functions that ran for any view."""
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
