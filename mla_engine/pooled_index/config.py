"""The sizes and options of MLA with an indexer over pooled keys."""

from dataclasses import dataclass, field

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine.indexed.config import IndexedConfig


@dataclass(frozen=True, kw_only=True)
class PooledIndexConfig(IndexedConfig):
    """Sparse attention that chooses blocks of tokens (GLM-5.3-Flash, transformers glm5_next).

    The index keys of `pooling` tokens become one, by a gated softmax in each channel, as soon as
    the last of them is there. A query attends to the tokens of the index_topk / pooling blocks of
    the highest index score, and to those of its own block while that is not full. Nothing is
    rotated: no published model has rotated keys here, and a pooled one would have no position.

    Raises:
        ValueError: a size, a number or a combination that no layer can have, with the fix.
    """

    pooling: int = field()
    has_blocks = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("pooling", self.pooling)
        checks.multiple("index_topk", self.index_topk, "pooling", self.pooling)
        if self.rotation is not None:
            raise RefusedError("pooled_rotation")

    @property
    def n_series(self) -> int:
        """Into how many blocks a token goes: its own."""
        return 1

    @property
    def n_slots(self) -> int:
        """Tokens of a block."""
        return self.pooling

    @property
    def chosen_blocks(self) -> int:
        """The number of blocks that a query chooses."""
        return self.index_topk // self.pooling
