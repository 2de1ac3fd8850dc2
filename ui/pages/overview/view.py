"""The view of the overview: one layer of the chosen sizes, in the chosen variant."""

from dataclasses import dataclass
from math import ceil

from mla_engine import costs
from ui.engine import model
from ui.engine.model import Config, Model
from ui.parts.flow import Overview
from ui.parts.scene.scene import WIDTH, Scene
from ui.settings.sizes import longest

TOKENS = 2**15  # of a long text, which MHA's cache is compared at


@dataclass(frozen=True)
class View:
    """The chosen model, and the configuration of its layer."""

    model: Model
    config: Config

    @property
    def flow(self) -> Overview:
        """The layer's data flow."""
        return Overview(self.config, self.model.form)

    @property
    def cached(self) -> float:
        """Numbers that the layer keeps of each further token."""
        return costs.cache_elements(self.config)

    @property
    def fixed(self) -> int:
        """Numbers that it keeps at most beside them, however long the text."""
        return round(costs.fixed_bytes(self.config, WIDTH) / WIDTH)

    @property
    def context(self) -> int:
        """The tokens at which it is compared with MHA where not every token adds the same."""
        return longest(self.model.preset, most=TOKENS)

    @property
    def held(self) -> int:
        """Numbers that the layer keeps of so many tokens."""
        return round(costs.held_bytes(self.config, self.context, WIDTH) / WIDTH)

    @property
    def outgrown(self) -> int:
        """From which token on MHA keeps more than a state."""
        return ceil(self.fixed / self.model.mha)

    @property
    def scene(self) -> Scene:
        """The layer drawn to scale."""
        return Scene(self.model)


def variant() -> str:
    """The chosen variant, whether it can have the chosen sizes or not."""
    return model.present().variant


def view() -> View:
    """Return the view of the present settings.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    chosen = model.present()
    return View(chosen, chosen.config())
