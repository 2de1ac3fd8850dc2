"""Finds the pages: every folder of ui/pages declares its own as PAGE.

A page that cannot be opened is refused when the app starts, with its file and the name.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from ui import ROOT
from ui.frame import story
from ui.settings import values
from ui.settings.page import PAGES, SETTINGS, Link, Page, PageError, home, register
from ui.settings.shared import SHARED
from ui.sources.small_model import AS_TRAINED
from ui.words.text import read

FOLDER = ROOT / "ui/pages"


def find() -> list[Page]:
    """The page of every folder of ui/pages.

    Raises:
        PageError: a folder that declares none, one of another name, without texts or storyboard.
    """
    folders = sorted(file.parent for file in FOLDER.glob("*/__init__.py"))
    return [_page(folder) for folder in folders]


def _page(folder: Path) -> Page:
    page = getattr(import_module(f"ui.pages.{folder.name}"), "PAGE", None)
    if not isinstance(page, Page):
        raise PageError(f"{home(folder.name)}: declare the page as PAGE = Page(...)")
    if page.name != folder.name:
        raise PageError(f"{home(folder.name)}: the page is called {page.name!r}, not as its folder")
    texts = folder / "texts.toml"
    if not texts.is_file() or "link" not in read(texts):
        raise PageError(f"{texts.relative_to(ROOT)}: the text 'link' is missing")
    if not (ROOT / page.file).is_file():
        raise PageError(f"{page.file}: the storyboard of {page.name!r} is missing")
    return page


def check_links(links: Iterable[Link], file: str) -> None:
    """Check that every named page exists, and can open with the values given.

    Raises:
        PageError: an unknown page, a setting that the page does not have, or a value that no link
            can bring.
    """
    for link in links:
        if link.page not in PAGES:
            raise PageError(f"{file}: there is no page {link.page!r}")
        known = SHARED | PAGES[link.page].settings
        for name, value in link.values.items():
            if name not in known:
                raise PageError(f"{file}: the page {link.page!r} has no setting {name!r}")
            if not known[name].can_be(value):
                raise PageError(f"{file}: {name} of the page {link.page!r} cannot be {value!r}")


def open_all() -> None:
    """Find all pages, take them in, and check what they and the story name.

    Raises:
        PageError: as `find`; names that nobody has.
    """
    register(find())
    values.forget()
    for page in PAGES.values():
        check_links(page.links, home(page.name))
        for name in page.lecture:
            if name not in SETTINGS:
                raise PageError(f"{home(page.name)}: lecture mode shows the unknown {name!r}")
    tellings = (story.telling(source) for source in ("", AS_TRAINED.names[0]))
    steps = (Link(step.page, step.own) for told in tellings for step in told)
    check_links(steps, story.FILE.relative_to(ROOT).as_posix())
