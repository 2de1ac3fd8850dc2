"""The scene's content: a layer of a model in one variant, run over a text's first words."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from mla_engine import costs, mechanisms
from ui.parts.maps.run import Run, run
from ui.parts.scene.tensors import Tensor, tensors
from ui.sources import layers
from ui.sources.model import Config, Model

TOKENS = 8  # the most that are shown
HEAD = 0  # whose numbers the cards show
WIDTH = 4  # bytes of a number, of a state, too


@dataclass(frozen=True)
class Scene:
    """The chosen model's layer, drawn as large as all its variants together allow."""

    model: Model
    config: Config  # of the layer

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The tokens that run."""
        return self.model.words[:TOKENS]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every step of the chosen variant."""
        return self._shapes(self.model.variant)

    @cached_property
    def tensors(self) -> list[Tensor]:
        """Those of the chosen variant."""
        return self.tensors_of(self.model.variant)

    @cached_property
    def every(self) -> list[list[Tensor]]:
        """Those of each variant that there is at these sizes."""
        return list(self._variants())

    def _variants(self) -> Iterator[list[Tensor]]:
        for variant in self.model.variants:
            with suppress(ValueError):  # the chosen one is refused before
                yield self.tensors_of(variant)

    def tensors_of(self, variant: str) -> list[Tensor]:
        """Return those of a variant of these sizes, or raise ValueError where there is none."""
        return tensors(mechanisms.form_of(variant).symbols, self._shapes(variant))

    def _shapes(self, variant: str) -> dict[str, tuple[int, ...]]:
        form = mechanisms.form_of(variant).symbols
        return layers.shapes(self.model.config(variant), form, len(self.words))

    def ran(self) -> Run:
        """Run one head, and return the run.

        Raises:
            ValueError, MemoryBudgetError, CostError, FullError: in the engine's words.
        """
        source = self.model.source_of(self.config)
        return run(self.config, self.model.form, self.words, source, (HEAD,))

    @property
    def cached(self) -> float:
        """Numbers that are cached of each further token."""
        return costs.cache_elements(self.config)

    @property
    def fixed(self) -> int:
        """Numbers that are cached at most beside them, however long the text."""
        return round(costs.fixed_bytes(self.config, WIDTH) / WIDTH)

    def held(self, tokens: int) -> int:
        """Return how many numbers the cache of so many tokens holds."""
        return round(costs.held_bytes(self.config, tokens, WIDTH) / WIDTH)

    @property
    def mha(self) -> int:
        """Numbers that MHA of as many heads caches of one token, whatever the variant."""
        return self.model.mha

    @property
    def outgrown(self) -> int:
        """The token from which on MHA keeps more than a state."""
        return ceil(self.fixed / self.mha)

    @cached_property
    def multiply_adds(self) -> dict[str, int]:
        """The multiply-adds of the products that make each tensor of all tokens."""
        form = mechanisms.form_of(self.model.variant).name
        flops = costs.prefill(self.config, len(self.words), form).step_flops
        return {code: number // 2 for code, number in flops.items()}
