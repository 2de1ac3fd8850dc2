"""What the overview shows: one layer of the chosen sizes, in the chosen variant."""

from dataclasses import dataclass

from mla_engine import costs
from ui.engine import model
from ui.engine.model import Config, Model
from ui.parts.flow import Overview
from ui.parts.scene.scene import WIDTH, Scene


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
    def scene(self) -> Scene:
        """The layer drawn to scale."""
        return Scene(self.model)


def view() -> View:
    """What the settings choose.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    chosen = model.present()
    return View(chosen, chosen.config())
