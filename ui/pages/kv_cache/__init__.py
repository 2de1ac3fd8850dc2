"""KV cache: what each way of attending keeps, where it fits, and how it is counted.

Each topic of the page is a file, with its title, sentences, chart, table, controls, data and code.
"""

from ui.pages.kv_cache import context, formula, layouts, memory, parallel
from ui.pages.kv_cache.view import SETTINGS, mend
from ui.parts import stops
from ui.settings import state
from ui.settings.page import Page

TOPICS = {
    "context": context,
    "memory": memory,
    "layouts": layouts,
    "parallel": parallel,
    "formula": formula,
}

PAGE = Page(
    name="kv_cache",
    group="size",
    order=1,
    settings=SETTINGS,
    sizes=False,
    lecture=("kv_view", "kv_context"),
    crossed=(("kv_left", "kv_context"),),
    stops=lambda: stops.of_views("kv_view", tuple(TOPICS), state.settings()["kv_view"]),
    mend=mend,
    code=lambda view: TOPICS[view.topic].code(view),
    snippet=lambda view: TOPICS[view.topic].snippet(view),
    uploads=True,
)
