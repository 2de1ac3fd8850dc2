"""The code behind the page."""

from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.studies.spectra import spectra
from ui.engine.layers import form_of
from ui.pages.real_models.run import MEASURES
from ui.pages.real_models.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """Return what read the layer and its input, made its maps, and measured its heads."""
    form = form_of(view.config, view.maps.run.form)
    made = tuple(filter(None, (form.columns, form.read)))
    measured = (MEASURES[view.mechanism], spectra) if view.measured else ()
    return (load_attention, hidden_states, *made, *measured)
