"""The pages and all their settings, as `ui.frame.rooms` found them."""

from dataclasses import replace

from ui.settings.page import GROUPS, Page
from ui.settings.parsers import Setting
from ui.settings.shared import SHARED

PAGES: dict[str, Page] = {}
"""Name -> page, in lecture order."""

SETTINGS: dict[str, Setting] = dict(SHARED)
"""Every setting: those that hold on every page, and then those of each room."""


class RoomError(Exception):
    """A room that cannot be opened, with its file and the name that is wrong."""


def register(pages: list[Page]) -> None:
    """Take in all rooms at once.

    Raises:
        RoomError: an unknown group, two rooms of one place, or a setting that is taken.
    """
    PAGES.clear()
    SETTINGS.clear()
    SETTINGS.update(SHARED)
    owners = dict.fromkeys(SHARED, "the shared settings")
    for page in sorted(pages, key=_place):
        for other in PAGES.values():
            if _place(other) == _place(page):
                place = f"order {page.order} of {page.group!r}"
                raise RoomError(f"{home(page.name)}: {place} is that of {other.name}")
        for name in page.settings:
            if name in owners:
                raise RoomError(f"{home(page.name)}: setting {name!r} belongs to {owners[name]}")
            owners[name] = home(page.name)
            texts = f"{page.name}.{short(name)}"
            SETTINGS[name] = replace(page.settings[name], texts=texts)
        PAGES[page.name] = page


def short(name: str) -> str:
    """Return a setting's name without the part that its page's settings begin with."""
    return name.partition("_")[2]


def _place(page: Page) -> tuple[int, int]:
    """Return its place in the navigation."""
    if page.group not in GROUPS:
        known = ", ".join(GROUPS)
        raise RoomError(f"{home(page.name)}: group {page.group!r} is none of {known}")
    return GROUPS.index(page.group), page.order


def home(name: str) -> str:
    """Return the file in which a page declares itself."""
    return f"ui/pages/{name}/__init__.py"
