"""The code behind the page real_models."""

from mla_engine import GroupedConfig
from mla_engine.checkpoints import describe, hidden_states, load_attention
from mla_engine.studies.logit_shares import logit_shares
from mla_engine.studies.spectra import spectra
from ui.engine import model
from ui.engine import real_layer as source
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    shown = (load_attention, hidden_states)
    if not source.chosen():
        return (describe,)
    return (*shown, *(() if isinstance(model.config(), GroupedConfig) else (logit_shares, spectra)))
