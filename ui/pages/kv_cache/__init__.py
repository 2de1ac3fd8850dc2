"""KV cache: what each way of attending keeps, where it fits, and how it is counted.

Of its panels one is shown, which the reader chooses; the two models stay.
"""

from ui.pages.kv_cache import context, formula, layouts, memory, parallel
from ui.pages.kv_cache.view import SETTINGS, View, mend, view
from ui.parts import stops
from ui.settings import state
from ui.settings.page import Page, Panel, joined
from ui.settings.parsers import Setting, one_of

PANELS = tuple(one.PANEL for one in (context, memory, layouts, parallel, formula))
NAMES = tuple(one.name for one in PANELS)
CHOICE = {"kv_view": Setting("context", one_of(*NAMES), "segmented_control")}


def shown(of: View) -> Panel:
    """Return the panel that is shown of a view."""
    return PAGE.panel(of.view)


PAGE = Page(
    name="kv_cache",
    group="size",
    order=1,
    settings=joined(CHOICE, SETTINGS),
    sizes=False,
    lecture=("kv_view", "kv_context"),
    crossed=(("kv_left", "kv_context"),),
    stops=lambda: stops.of_views("kv_view", NAMES, state.settings()["kv_view"]),
    mend=mend,
    view=view,
    panels=PANELS,
    code=lambda of: shown(of).code(of),
    snippet=lambda of: shown(of).snippet(of),
    uploads=True,
)
