"""The code behind the page."""

from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.studies.logit_shares import logit_shares
from mla_engine.studies.spectra import spectra
from ui.pages.real_models.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """What read the layer and its input, and what measured its heads."""
    measured = (logit_shares, spectra) if view.shares else ()
    return (load_attention, hidden_states, *measured)
