"""Byte ranges of files, and which of them one request reads."""

from collections.abc import Iterable
from dataclasses import dataclass

MOST_GAP_BYTES = 2**16
WASTE = 1 / 32  # gaps that are read over, as a part of what is wanted


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


def grouped(spans: Iterable[Span]) -> list[list[Span]]:
    """Spans in order, those together that one request reads: small gaps are read over.

    The gaps of a group are at most 1/32 of its wanted bytes, and 64 KiB each.
    """
    groups: list[list[Span]] = []
    wanted = gaps = 0
    for span in sorted(spans):
        last = groups[-1][-1] if groups else Span("", 0, 0)
        gap, wanted = span.start - last.stop, wanted + span.n_bytes
        small = 0 <= gap <= MOST_GAP_BYTES and gaps + gap <= WASTE * wanted
        if last.file == span.file and small:
            groups[-1].append(span)
            gaps += gap
        else:
            groups.append([span])
            wanted, gaps = span.n_bytes, 0
    return groups
