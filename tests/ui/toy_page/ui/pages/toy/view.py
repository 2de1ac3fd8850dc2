"""The view of the toy page."""

from dataclasses import dataclass

from mla_engine import costs
from ui.settings import state
from ui.sources import model
from ui.sources.model import Model


@dataclass(frozen=True)
class View:
    """A number of tokens in a layer of the present sizes."""

    model: Model
    tokens: int

    @property
    def numbers(self) -> int:
        """The numbers that the layer caches for all of them."""
        return self.tokens * costs.cache_elements(self.model.config())


def view() -> View:
    """The view of the present settings."""
    return View(model.present(), state.settings()["toy_tokens"])
