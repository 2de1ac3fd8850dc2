"""The view of the overview: one layer of the chosen sizes, in the chosen variant."""

from dataclasses import dataclass

from ui.parts.flow import Overview
from ui.parts.scene.scene import Scene
from ui.settings import state
from ui.settings.sizes import longest
from ui.sources.model import present

TOKENS = 2**15  # of a long text, which MHA's cache is compared at


@dataclass(frozen=True)
class View(Scene):
    """The chosen layer: drawn to scale, its data flow, and its cache of a long text.

    Args:
        later: whether the variants that came after MLA are offered, too.
    """

    later: bool

    @property
    def flow(self) -> Overview:
        """The layer's data flow."""
        return Overview(self.config, self.model.form)

    @property
    def context(self) -> int:
        """The tokens at which it is compared with MHA where not every token adds the same."""
        return longest(self.model.preset, most=TOKENS)


def view() -> View:
    """Return the view of the present settings.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    model = present()
    return View(model, model.config(), state.chosen("overview").later)
