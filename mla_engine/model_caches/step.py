"""A decode step of a plan: what it reads and computes, and the bounds that follow."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class Step:
    """One decode step of a batch, each sequence one token further.

    Args:
        batch: sequences.
        read_bytes: of weights and cache, on the fullest GPU.
        flops: of all GPUs.
        reading_seconds: in which the fullest GPU reads its bytes, at least.
        computing_seconds: in which it computes its share, at least.
    """

    batch: int
    read_bytes: Fraction
    flops: Fraction
    reading_seconds: Fraction
    computing_seconds: Fraction

    @property
    def seconds(self) -> Fraction:
        """At least: reading and computing side by side."""
        return max(self.reading_seconds, self.computing_seconds)

    @property
    def tokens_per_second(self) -> Fraction:
        """Of all sequences together, at most: batch / seconds."""
        return self.batch / self.seconds

    @property
    def sequence_tokens_per_second(self) -> Fraction:
        """Of one sequence, at most: 1 / seconds."""
        return 1 / self.seconds
