"""Finds the rooms: every folder of ui/pages declares its page as PAGE.

A room that cannot be opened is refused when the app starts, with its file and the name.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from ui import ROOT
from ui.engine import real_model
from ui.frame import story
from ui.settings.page import Link, Page
from ui.settings.rooms import PAGES, SETTINGS, RoomError, home, register
from ui.settings.shared import SHARED
from ui.words.text import read

ROOMS = ROOT / "ui/pages"


def find() -> list[Page]:
    """The page of every folder of ui/pages.

    Raises:
        RoomError: a folder that declares none, one of another name, without texts or storyboard.
    """
    folders = sorted(file.parent for file in ROOMS.glob("*/__init__.py"))
    return [_page(folder) for folder in folders]


def _page(folder: Path) -> Page:
    page = getattr(import_module(f"ui.pages.{folder.name}"), "PAGE", None)
    if not isinstance(page, Page):
        raise RoomError(f"{home(folder.name)}: declare the page as PAGE = Page(...)")
    if page.name != folder.name:
        raise RoomError(f"{home(folder.name)}: the page is called {page.name!r}, not as its folder")
    texts = folder / "texts.toml"
    if not texts.is_file() or "link" not in read(texts):
        raise RoomError(f"{texts.relative_to(ROOT)}: the text 'link' is missing")
    if not (ROOT / page.file).is_file():
        raise RoomError(f"{page.file}: the storyboard of {page.name!r} is missing")
    return page


def check_links(links: Iterable[Link], file: str) -> None:
    """Check that every named page exists, and can open with the values given.

    Raises:
        RoomError: an unknown page, a setting that the page does not have, or a value that no link
            can bring.
    """
    for link in links:
        if link.page not in PAGES:
            raise RoomError(f"{file}: there is no page {link.page!r}")
        known = SHARED | PAGES[link.page].settings
        for name, value in link.values.items():
            if name not in known:
                raise RoomError(f"{file}: the page {link.page!r} has no setting {name!r}")
            if not known[name].can_be(value):
                raise RoomError(f"{file}: {name} of the page {link.page!r} cannot be {value!r}")


def open_all() -> None:
    """Find all rooms, take them in, and check what they and the story name.

    Raises:
        RoomError: as `find`; names that nobody has.
    """
    register(find())
    for page in PAGES.values():
        check_links(page.links, home(page.name))
        for name in page.lecture:
            if name not in SETTINGS:
                raise RoomError(f"{home(page.name)}: lecture mode shows the unknown {name!r}")
    tellings = (story.telling(source) for source in ("", real_model.NAMES[0]))
    steps = (Link(step.page, step.own) for told in tellings for step in told)
    check_links(steps, story.FILE.relative_to(ROOT).as_posix())
