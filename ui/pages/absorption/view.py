"""What the absorption page shows: a layer, a product with its bracket, and what is merged."""

from dataclasses import dataclass

from mla_engine import PRESETS, LatentConfig
from mla_engine.studies.bracketing import Bracketing, bracketings
from ui.engine import model
from ui.engine.model import Model
from ui.engine.origin import Origin
from ui.parts.maps.run import block_of_heads
from ui.settings import state
from ui.settings.page import Note

LARGE = PRESETS["deepseek-v3"]  # beside a trained model, whose sizes are small
MOST_HEADS = 4  # that are run: enough to see, and quick at DeepSeek-V3's sizes


@dataclass(frozen=True)
class View:
    """The present settings' MLA and the reader's choices.

    Args:
        model: the sizes and whose weights.
        config: the MLA of these sizes.
        words: the tokens.
        side: the product that is bracketed, "scores" or "output".
        form: the chosen bracket, "absorbed" or "expanded".
        queries: new tokens.
        context: tokens in the cache.
        head: the one whose merged matrix is shown.
        matrix: which of the two, "W_QK" or "W_VO".
        dtype: the number format whose rounding is shown.
        gain: how many times as long the last word's h is made.
    """

    model: Model
    config: LatentConfig
    words: tuple[str, ...]
    side: str
    form: str
    queries: int
    context: int
    head: int
    matrix: str
    dtype: str
    gain: float

    @property
    def origin(self) -> Origin:
        """Whose weights: the seed's, a trained model's or a real layer's."""
        return self.model.origin(self.config)

    @property
    def heads(self) -> tuple[int, ...]:
        """The heads that are run, the chosen one among them."""
        return block_of_heads(self.config, len(self.words), self.head, MOST_HEADS)

    @property
    def orders(self) -> dict[str, Bracketing]:
        """Both bracketings, by form."""
        return self._orders(self.config)

    def _orders(self, config: LatentConfig) -> dict[str, Bracketing]:
        keys = self.context + self.queries
        return bracketings(config, self.side, queries=self.queries, keys=keys)

    @property
    def order(self) -> Bracketing:
        """The bracketing that the reader chose."""
        return self.orders[self.form]

    @property
    def work(self) -> dict[str, int]:
        """The multiply-adds of both orders, by form."""
        return _work(self.orders)

    @property
    def large_work(self) -> dict[str, int]:
        """The same of a layer of LARGE."""
        return _work(self._orders(LARGE.config))


def _work(orders: dict[str, Bracketing]) -> dict[str, int]:
    return {form: sum(order.multiply_adds) for form, order in orders.items()}


def mend() -> list[Note]:
    """Bring the head to the nearest that there is."""
    return state.at_most(ab_head=model.present().sizes["n_heads"] - 1)


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    s, chosen = state.settings(), model.present()
    return View(
        model=chosen,
        config=chosen.config("mla"),
        words=chosen.words,
        side=s["ab_side"],
        form=s["ab_order"],
        queries=s["ab_queries"],
        context=s["ab_context"],
        head=s["ab_head"],
        matrix=s["ab_matrix"],
        dtype=s["ab_type"],
        gain=s["ab_gain"],
    )
