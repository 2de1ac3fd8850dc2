"""The five questions of the cache page, by the code that the URL keeps."""

from collections.abc import Callable
from dataclasses import dataclass

from mla_engine.late import Late
from ui.pages.kv_cache import context, formula, layouts, memory, parallel
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import View

pd = Late("pandas")


@dataclass(frozen=True)
class Topic:
    """How one question is answered.

    Args:
        lead: the number and the answer for the left model; refuses what the engine refuses.
        look: what to look at.
        draw: chart, table and sentences of one model, on the side of this name.
        data: the table behind both charts, made outside the session.
        file: its name.
    """

    lead: Callable[[View], tuple[str, str]]
    look: Callable[[View], str]
    draw: Callable[[View, Scene, str], None]
    data: Callable[[View], "pd.DataFrame"]
    file: str


TOPICS = {
    "context": Topic(context.lead, context.look, context.draw, context.data, "kv_cache.csv"),
    "memory": Topic(memory.lead, memory.look, memory.draw, memory.data, "kv_cache_memory.csv"),
    "layouts": Topic(
        layouts.lead, layouts.look, layouts.draw, layouts.data, "kv_cache_layouts.csv"
    ),
    "parallel": Topic(
        parallel.lead, parallel.look, parallel.draw, parallel.data, "kv_cache_parallel.csv"
    ),
    "formula": Topic(
        formula.lead, formula.look, formula.draw, formula.data, "kv_cache_formula.csv"
    ),
}
