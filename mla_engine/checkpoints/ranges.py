"""Byte ranges of files."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """Bytes `start` to `stop` of `file`."""

    file: str
    start: int
    stop: int

    @property
    def n_bytes(self) -> int:
        """How many they are."""
        return self.stop - self.start
