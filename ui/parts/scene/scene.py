"""What the scene shows: one layer of a model in one variant, run over the first words of a text."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from mla_engine import SYMBOLS, mechanisms
from ui.engine import layers
from ui.engine.model import Model
from ui.parts.maps.run import Run, run
from ui.parts.scene.layout import Block, Layout, Tensor, curves, tensors

TOKENS = 8  # the most that are shown
ROWS = 8  # of a tensor's numbers that its card shows
HEAD = 0  # whose numbers these are
PITCH = 78  # of the tokens on the shelf
WIDEST = 60  # what is kept of a token
UNIT = 16  # the least side of the square that tells the scale


@dataclass(frozen=True)
class Scene:
    """The chosen model's layer, drawn as large as all its variants together allow."""

    model: Model

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens that run."""
        return self.model.words[:TOKENS]

    @cached_property
    def tensors(self) -> list[Tensor]:
        """Those of the chosen variant."""
        return self._tensors(self.model.variant)

    @cached_property
    def every(self) -> list[list[Tensor]]:
        """Those of each variant that there is at these sizes."""
        return list(self._variants())

    def _variants(self) -> Iterator[list[Tensor]]:
        for variant in self.model.variants:
            try:
                yield self._tensors(variant)
            except ValueError:  # the chosen one is refused before
                continue

    def _tensors(self, variant: str) -> list[Tensor]:
        form = mechanisms.form_of(variant).symbols
        return tensors(form, layers.shapes(self.model.config(variant), form, len(self.words)))

    @cached_property
    def layout(self) -> Layout:
        """One scale and one set of lanes for all variants."""
        return Layout(self.every)

    @cached_property
    def blocks(self) -> list[Block]:
        """The rectangles of the chosen variant."""
        return self.layout.blocks(self.tensors)

    @property
    def curves(self) -> list[tuple[str, str, list[float]]]:
        """What reads what, and from where to where its curve runs."""
        return curves(self.blocks)

    def ran(self) -> Run:
        """The run of one head.

        Raises:
            ValueError, MemoryBudgetError, CostError, FullError: in the engine's words.
        """
        config = self.model.config()
        return run(config, self.model.form, self.words, self.model.origin(config), (HEAD,))

    def kept(self, of: list[Tensor]) -> float:
        """Area of what is cached of one token."""
        return self.layout.scale * sum(map(self._each, of))

    def _each(self, tensor: Tensor) -> float:
        return tensor.numbers / len(self.words) if SYMBOLS[tensor.code].cached else 0

    def pieces(self) -> tuple[float, list[tuple[Tensor, float]]]:
        """Width of what stands on the shelf of one token, and each cached tensor's height."""
        width = min(WIDEST, sqrt(self.kept(self.tensors)))
        cached = [tensor for tensor in self.tensors if SYMBOLS[tensor.code].cached]
        return width, [(one, self.layout.scale * self._each(one) / width) for one in cached]

    @property
    def highest(self) -> float:
        """Of what any variant keeps of one token."""
        areas = [self.kept(each) for each in self.every]
        return max(area / min(WIDEST, sqrt(area)) for area in areas)

    @property
    def unit(self) -> int:
        """A round count of numbers whose square can be seen: it tells the scale."""
        least, decade = UNIT**2 / self.layout.scale, 1
        while True:
            for step in (1, 2, 5):
                if step * decade >= least:
                    return step * decade
            decade *= 10
