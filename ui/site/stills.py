"""The first sentence and the picture of every page, taken in a browser."""

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser

from ui.handout.browser import PATIENCE_MILLISECONDS, settle
from ui.handout.sheets import STATEMENT
from ui.settings import address
from ui.site.html import Still

FOLDER, QUALITY = "stills", 60  # of the pictures: small files of large flat areas
WINDOW = {"width": 1200, "height": 630}  # as previews of links have them
BARE = """
  [data-testid=stSidebar], [data-testid=stExpandSidebarButton], .st-key-page_row, .st-key-guess,
  [data-testid=stHeader] { display: none !important; }
  .stMainBlockContainer { padding: 1rem 1.5rem !important; }
"""


def take(
    browser: Browser, app: str, languages: Iterable[str], pages: Iterable[str], folder: Path
) -> Iterator[Still]:
    """Open these pages of a running app, write their pictures, and yield what each says."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport=WINDOW, color_scheme="light", reduced_motion="reduce")
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    for lang, name in product(languages, pages):
        page.goto(address.link(app, name, {"lang": lang}))
        settle(page)
        title = page.locator("h1").first.inner_text()
        said = page.locator(STATEMENT)
        says = said.first.inner_text() if said.count() else title
        page.add_style_tag(content=BARE)
        settle(page)
        picture = f"{FOLDER}/{name}_{lang}.jpg"
        page.screenshot(path=folder / picture, type="jpeg", quality=QUALITY)
        yield Still(name, title, " ".join(says.split()), picture, lang)
    page.close()
