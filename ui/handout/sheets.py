"""The stops of the tour as they stand on paper, photographed one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser

from ui.frame import tour
from ui.handout.browser import PATIENCE_MILLISECONDS, settle
from ui.settings import address
from ui.settings.parsers import as_text

WINDOW = {"width": 1200, "height": 1080}  # large letters on paper, the main picture above the fold
STATEMENT = ".st-key-lead > :last-child"
BARE = """
  [data-testid=stSidebar], [data-testid=stExpandSidebarButton], .st-key-tour_bar,
  [data-testid=stElementContainer]:has(> .stHeading h1), .st-key-lead, hr,
  [data-testid=stLayoutWrapper]:has(.st-key-share),
  [data-testid=stLayoutWrapper]:has(.st-key-share) ~ * { display: none; }
  .stMainBlockContainer { padding: 0 1.5rem !important; }
"""


class FailedStopError(RuntimeError):
    """A stop whose page shows an error in place of its picture."""


@dataclass(frozen=True)
class Sheet:
    """A stop as it stands on paper."""

    number: int
    page: str
    statement: str
    say: str
    picture: bytes
    link: str


def sheets(browser: Browser, app: str, root: str, lang: str, count: int) -> Iterator[Sheet]:
    """Open the first `count` stops in the app at `app`; their links begin with `root`.

    Raises:
        FailedStopError: a page that could not be shown.
    """
    page = browser.new_page(viewport=WINDOW, color_scheme="light", device_scale_factor=1.5)
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    for number, stop in enumerate(tour.stops()[:count], start=1):
        own = {name: as_text(value) for name, value in stop.own.items()}
        told = own | {"stop": str(number), "lang": lang}
        page.goto(address.link(app, stop.page, told))
        settle(page)
        page.add_style_tag(content=BARE)
        settle(page)
        if page.locator("[data-testid=stException]").count():
            raise FailedStopError(f"stop {number} failed: see the app's log")
        said = page.locator(STATEMENT).text_content()
        link = address.link(root, stop.page, told)
        yield Sheet(number, stop.page, said, stop.say[lang], page.screenshot(), link)
    page.close()
