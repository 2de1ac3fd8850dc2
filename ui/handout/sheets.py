"""The chapters of the story as they stand on paper, photographed one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser

from ui.frame import story
from ui.handout.browser import PATIENCE_MILLISECONDS, settle
from ui.settings import address
from ui.settings.parsers import as_text

WINDOW = {"width": 1200, "height": 1080}  # large letters on paper, the main picture above the fold
STATEMENT = ".st-key-lead > :last-child"
BARE = """
  [data-testid=stSidebar], [data-testid=stExpandSidebarButton], .st-key-story_bar,
  [data-testid=stElementContainer]:has(> .stHeading h1), .st-key-lead, hr,
  .st-key-page_row, .st-key-page_code { display: none; }
  .stMainBlockContainer { padding: 0 1.5rem !important; }
  .stElementContainer { opacity: 1 !important; } /* on paper nothing is dimmed */
"""


class FailedStepError(RuntimeError):
    """A step whose page shows an error in place of its picture."""


@dataclass(frozen=True)
class Sheet:
    """A chapter as it stands on paper; picture, statement and link are of its last step."""

    chapter: int
    title: str
    page: str
    statement: str
    say: tuple[str, ...]
    picture: bytes
    link: str


def sheets(browser: Browser, app: str, root: str, lang: str, count: int) -> Iterator[Sheet]:
    """Open the first `count` chapters in the app at `app`; their links begin with `root`.

    Raises:
        FailedStepError: a page that could not be shown.
    """
    page = browser.new_page(
        viewport=WINDOW, color_scheme="light", device_scale_factor=1.5, reduced_motion="reduce"
    )
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    for steps in story.chapters()[:count]:
        number, step = steps[-1]
        own = {name: as_text(value) for name, value in step.own.items()}
        told = own | {"stop": str(number), "lang": lang}
        page.goto(address.link(app, step.page, told))
        settle(page)
        page.add_style_tag(content=BARE)
        settle(page)
        if page.locator("[data-testid=stException]").count():
            raise FailedStepError(f"step {number} failed: see the app's log")
        yield Sheet(
            chapter=step.chapter,
            title=step.title[lang],
            page=step.page,
            statement=page.locator(STATEMENT).text_content(),
            say=tuple(one.say[lang] for _, one in steps),
            picture=page.screenshot(),
            link=address.link(root, step.page, told),
        )
    page.close()
