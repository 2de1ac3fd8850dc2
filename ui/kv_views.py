"""The views of the cache page, by the code that the URL keeps."""

from collections.abc import Callable
from functools import partial
from types import ModuleType

import pandas as pd

from ui import kv_context, kv_formulas, kv_layouts, kv_memory, kv_parallel, state
from ui.kv import Scene

VIEWS: dict[str, ModuleType] = {
    "context": kv_context,
    "memory": kv_memory,
    "layouts": kv_layouts,
    "parallel": kv_parallel,
    "formula": kv_formulas,
}


def file(view: str) -> str:
    """The name of a view's download."""
    return "kv_cache.csv" if view == "context" else f"kv_cache_{view}.csv"


def data(view: str, scenes: tuple[Scene, ...]) -> Callable[[], pd.DataFrame]:
    """What makes a view's table later, outside the session, from what is chosen now."""
    return partial(VIEWS[view].download, scenes, dict(state.settings()))
