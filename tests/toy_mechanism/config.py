"""The sizes of attention with tied keys and values."""

from dataclasses import dataclass

from kvcount import checks
from mla_engine.config import AttentionConfig


@dataclass(frozen=True, kw_only=True)
class TiedConfig(AttentionConfig):
    """Heads, and the width of the one vector that is key and value; positions are not marked."""

    d_model: int
    n_heads: int
    d_head: int

    rope = None  # a rotated key could not be a value, too

    def __post_init__(self) -> None:
        checks.whole("n_heads", self.n_heads, most=4096)
        checks.whole("d_model", self.d_model)
        checks.whole("d_head", self.d_head)

    @property
    def d_value(self) -> int:
        """A value is the key."""
        return self.d_head

    @property
    def scale(self) -> float:
        """The softmax scale."""
        return self.d_head**-0.5
