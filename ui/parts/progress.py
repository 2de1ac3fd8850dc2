"""Pieces of work one after the other, with a bar where that takes a while."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from ui.streamlit_internals import DeltaGenerator

PATIENCE_SECONDS = 0.3  # what takes less shows no progress


def one_by_one(
    place: DeltaGenerator, todo: Sequence[str], words: Callable[[str, int], str]
) -> Iterator[str]:
    """Each of these in turn; a bar at `place` shows how many are done, and says `words`.

    Between two pieces a change of a widget interrupts the run; finished ones stay cached.
    """
    started = monotonic()
    for done, one in enumerate(todo):
        if monotonic() - started > PATIENCE_SECONDS:
            place.progress(done / len(todo), words(one, done))
        yield one
    place.empty()
