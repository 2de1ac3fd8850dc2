"""Every head at a glance and one in full, by the kind of text and layer that is read."""

from types import ModuleType

from ui.pages.attention_maps import long, over_time, whole
from ui.pages.attention_maps.long import LongView
from ui.pages.attention_maps.view import READ, RUN, View, is_long, is_whole, keeps_a_state, view
from ui.parts.maps.view import CELL
from ui.settings.page import Panel

Shown = View | LongView


def kind(shown: Shown | None) -> ModuleType:
    """Return how a view is drawn; without one, how the settings ask for it."""
    if shown is None:
        return long if is_long() else over_time if keeps_a_state() else whole
    return long if isinstance(shown, LongView) else whole if is_whole(shown) else over_time


def chosen() -> Shown:
    """Return the view that the settings choose.

    Raises:
        ValueError: in the engine's words.
    """
    return long.chosen() if is_long() else view()


PANEL = Panel(
    name="heads",
    settings=(*RUN, *READ, *CELL),
    title=lambda shown: kind(shown).title(),
    lead=lambda shown: kind(shown).lead(shown),
    look=lambda shown: kind(shown).look(shown),
    draw=lambda shown: kind(shown).draw(shown),
    question=lambda shown: kind(shown).question(shown),
)
