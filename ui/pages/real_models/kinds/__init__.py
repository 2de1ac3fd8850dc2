"""A layer by its kind: each module here has the same functions of a view.

`lead` and `look` say what the layer does, `chosen` what its chosen head does; `cell` draws the
controls of a cell, `first` and `below` the pictures, `listen` takes clicks on them.
"""

from types import ModuleType

from ui.pages.real_models.kinds import delta, grouped, latent, plain, pooled
from ui.pages.real_models.view import View

KINDS = {"grouped": grouped, "latent": latent, "pooled": pooled, "delta": delta}


def of(view: View) -> ModuleType:
    """The one of a layer; of mechanisms without one of their own only the maps."""
    return KINDS.get(view.mechanism, plain)
