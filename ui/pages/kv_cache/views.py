"""The views of the cache page, by the code that the URL keeps."""

from collections.abc import Callable
from functools import partial
from types import ModuleType

import pandas as pd

from ui.pages.kv_cache import context as kv_context
from ui.pages.kv_cache import formulas as kv_formulas
from ui.pages.kv_cache import layouts as kv_layouts
from ui.pages.kv_cache import memory as kv_memory
from ui.pages.kv_cache import parallel as kv_parallel
from ui.pages.kv_cache.view import Scene
from ui.settings import state

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
