"""Two layers side by side, and what is said of them in every topic."""

from abc import ABC, abstractmethod

from mla_engine import costs
from ui.pages.compare.side import BF16_BYTES, Side
from ui.parts.questions import Question
from ui.parts.snippet import Code, config, read_config
from ui.parts.ways import other_layers
from ui.settings import state
from ui.settings.page import Functions, Recipe
from ui.sources import Checkpoint
from ui.sources.model import Model
from ui.words.numbers import amount, count, size, times
from ui.words.text import listed, t


class Topic(ABC):
    """One respect in which two layers, A and B, are compared."""

    name: str
    settings: tuple[str, ...] = ()  # that it reads, beside those of the two sides

    def __init__(self, model: Model, a: Side, b: Side) -> None:
        self.chosen, self.model, self.sides = state.chosen("compare"), model, (a, b)

    @property
    def trained(self) -> bool:
        """True where both are layers of trained models, which read the same sentence."""
        return all(side.trained for side in self.sides)

    @property
    def linear(self) -> bool:
        """True where a side reads a state: it has weights of either sign, and no logits."""
        return any(side.form.read for side in self.sides)

    def title(self) -> str:
        """Return the title: two layers, or two trained models, stand side by side."""
        a, b = self.sides
        two = self.trained and a.source != b.source
        return t("compare.title_trained" if two else "compare.title")

    def lead(self) -> tuple[str, str]:
        """Return the caches of both and their ratio, and what does not grow."""
        a, b = self.sides
        left, right = (costs.cache_elements(side.config) for side in self.sides)
        said = {"a": amount(left), "b": amount(right)}
        said |= {"left": a.shown_name, "right": b.shown_name}
        each = listed(
            f"{one.letter} {size(one.fixed_bytes)}" for one in self.sides if one.fixed_bytes
        )
        fixed = t("compare.line_fixed", each=each) if each else ""
        if left == right:
            return "=", t("compare.line_equal", **said) + fixed
        if not min(left, right):
            return t("compare.per_token", n=count(0)), t("compare.line_none", **said) + fixed
        ratio = times(max(left, right) / min(left, right))
        return t("compare.number", ratio=ratio), t("compare.line", **said) + fixed

    def look(self) -> str:
        """Return the sentence on what to look at."""
        return t(f"compare.look_{self.name}")

    def question(self) -> Question | None:
        """Return what is asked before the picture shows."""
        return None

    @abstractmethod
    def draw(self) -> None:
        """Draw the pictures and tables.

        Raises:
            ValueError, MemoryBudgetError: of maps, in the engine's words.
        """

    def limitations(self) -> list[str]:
        """Return a sentence for each layer that a model has beside those compared."""
        keys = dict.fromkeys(side.preset for side in self.sides if side.preset)
        return [sentence for key in keys for sentence in other_layers(key)]

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""
        run = [function for side in self.sides for function in side.form.formulas]
        return (costs.cache_elements, *dict.fromkeys(run))

    def snippet(self) -> Recipe:
        """Return the snippet that makes the page's headline numbers."""
        a, b = self.sides
        return "compare", {
            "config": _config(a),
            "other": _config(b),
            "form": a.form.name,
            "other_form": b.form.name,
            "context": self.chosen.context,
            "bytes": BF16_BYTES,
        }


def _config(side: Side) -> Code:
    if isinstance(side.source, Checkpoint):
        return read_config(side.source)
    return config(side.config, side.preset or "")
