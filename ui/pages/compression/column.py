"""The sections of the page at the present settings, and the one on top."""

from contextlib import suppress
from dataclasses import dataclass

from kvcount.refusals import RefusedError
from ui.pages.compression import by_cache, one_cache, quality
from ui.pages.compression import view as layers
from ui.pages.compression.one_cache import Measured
from ui.pages.compression.quality import Quality
from ui.pages.compression.view import View
from ui.parts.questions import Question


@dataclass(frozen=True)
class Column:
    """The page: what was measured of a real model, models trained here, and a layer.

    Args:
        measured: None where nothing was measured.
        quality: None where nothing was trained.
        layer: whose keys and values are compressed; None where that cannot be run.
    """

    measured: Measured | None
    quality: Quality | None
    layer: View | None

    @property
    def real(self) -> bool:
        """True if the page begins with the real model, as enough of it was measured."""
        return bool(self.measured and self.measured.tells)


def column() -> Column:
    """Return what there is."""
    measured = studied = None
    with suppress(RefusedError):  # said where they would stand
        measured = one_cache.present()
    with suppress(RefusedError):
        studied = quality.present()
    return Column(measured, studied, layers.view())


def lead(shown: Column) -> tuple[str, ...] | None:
    """Return the number and the line that the page begins with; None where it has none."""
    if shown.real:
        return one_cache.lead(shown.measured)
    return by_cache.lead(shown.quality) if shown.quality else None


def question(shown: Column) -> Question | None:
    """Return the page's one question, on what it begins with."""
    if shown.real:
        return one_cache.question(shown.measured)
    return by_cache.question(shown.quality) if shown.quality else None
