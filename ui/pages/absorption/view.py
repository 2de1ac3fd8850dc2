"""The layer that the absorption page shows, and the reader's choices."""

from dataclasses import dataclass
from types import SimpleNamespace

from mla_engine import LatentConfig
from ui.parts.maps.run import block_of_heads
from ui.settings import state
from ui.settings.page import Note
from ui.sources import Source
from ui.sources.model import Model, present

MOST_HEADS = 4  # that are run: enough to see, and quick at DeepSeek-V3's sizes


@dataclass(frozen=True)
class View:
    """The present settings' MLA, the words that it reads, and the page's own settings."""

    model: Model
    config: LatentConfig
    words: tuple[str, ...]
    chosen: SimpleNamespace

    @property
    def source(self) -> Source:
        """Whose weights: the seed's, a trained model's or a real layer's."""
        return self.model.source_of(self.config)

    @property
    def heads(self) -> tuple[int, ...]:
        """The heads that are run, the chosen one among them."""
        return block_of_heads(self.config, len(self.words), self.chosen.head, MOST_HEADS)


def mend() -> list[Note]:
    """Bring the head to the nearest that there is."""
    return state.at_most(ab_head=present().sizes["n_heads"] - 1)


def view() -> View:
    """Return what the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    model = present()
    return View(model, model.config("mla"), model.words, state.chosen("absorption"))
