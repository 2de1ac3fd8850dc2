"""What the choice saves at the sizes of a published model: closed forms of its cache."""

from dataclasses import dataclass
from functools import cached_property

from mla_engine import PRESETS, LatentConfig, costs
from mla_engine.config import AttentionConfig

KEY = "deepseek-v3.2-exp"
OF_DENSE = "deepseek-v3"  # the same layer without an indexer
WIDTH = 2  # bytes a number: bf16
MOST = 2**18  # tokens up to which a crossing is looked for


@dataclass(frozen=True)
class Published:
    """Both at a context of so many tokens, all layers together."""

    context: int

    @cached_property
    def indexed(self) -> AttentionConfig:
        """The layer with its indexer."""
        return PRESETS[KEY].config

    @cached_property
    def dense(self) -> LatentConfig:
        """The layer without one."""
        return PRESETS[OF_DENSE].config

    def read(self, config: AttentionConfig, context: int | None = None) -> float:
        """Bytes of the cache that a step reads."""
        context = self.context if context is None else context
        return PRESETS[KEY].n_layers * costs.decode(config, context).cache_read_bytes

    def stored(self, config: AttentionConfig) -> int:
        """Bytes of the cache that is kept."""
        each = WIDTH * costs.cache_elements(config)
        return PRESETS[KEY].n_layers * each * self.context

    @cached_property
    def cross(self) -> int:
        """The first context at which a step reads less with the indexer than without."""
        low, high = 1, MOST  # by halves, as the gain grows with the context
        while low < high:
            middle = (low + high) // 2
            if self.read(self.indexed, middle) < self.read(self.dense, middle):
                high = middle
            else:
                low = middle + 1
        return low
