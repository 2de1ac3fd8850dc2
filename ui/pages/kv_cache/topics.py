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
    """The parts of the answer to one question.

    Args:
        title: the point of the picture.
        lead: the number and the answer for the left model; refuses what the engine refuses.
        look: what to look at.
        draw: chart, table and sentences of one model, on the side of this name.
        data: the table behind both charts, made outside the session.
        file: its name.
    """

    title: Callable[[View], str]
    lead: Callable[[View], tuple[str, str]]
    look: Callable[[View], str]
    draw: Callable[[View, Scene, str], None]
    data: Callable[[View], "pd.DataFrame"]
    file: str


TOPICS = {
    name: Topic(one.title, one.lead, one.look, one.draw, one.data, file)
    for name, one, file in (
        ("context", context, "kv_cache.csv"),
        ("memory", memory, "kv_cache_memory.csv"),
        ("layouts", layouts, "kv_cache_layouts.csv"),
        ("parallel", parallel, "kv_cache_parallel.csv"),
        ("formula", formula, "kv_cache_formula.csv"),
    )
}
