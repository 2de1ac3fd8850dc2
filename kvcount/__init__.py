"""Counts the cache of a language model from its config.json: what is stored, and what is read.

`read(config)` gives the layers and what each keeps, `Placing` what GPUs hold and how long the
context can grow, `Plan` what they can serve at best, `MODELS` the published models by key. Names
are imported on first use.
"""

from typing import TYPE_CHECKING

from kvcount.lazy import public_names

if TYPE_CHECKING:
    from kvcount.counting import (
        Placing,
        by_kind,
        bytes_per_token,
        held_bytes,
        numbers_per_token,
        read_bytes,
    )
    from kvcount.dtypes import Storage, storage
    from kvcount.models import MODELS, Published
    from kvcount.parts import Layer, Model, Part
    from kvcount.planning.planner import Plan
    from kvcount.planning.serving import Step
    from kvcount.reading.keys import UncountedError
    from kvcount.reading.read import read
    from kvcount.refusals import RefusedError
    from kvcount.sources import find

_HOME = {
    "MODELS": "models",
    "Layer": "parts",
    "Model": "parts",
    "Part": "parts",
    "Placing": "counting",
    "Plan": "planning.planner",
    "Published": "models",
    "RefusedError": "refusals",
    "Step": "planning.serving",
    "Storage": "dtypes",
    "UncountedError": "reading.keys",
    "by_kind": "counting",
    "bytes_per_token": "counting",
    "find": "sources",
    "held_bytes": "counting",
    "numbers_per_token": "counting",
    "read": "reading.read",
    "read_bytes": "counting",
    "storage": "dtypes",
}
__all__ = list(_HOME)
__getattr__ = public_names(__name__, _HOME)


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return __all__
