"""Prints the guided tour as a handout, one HTML file with its pictures in it: `make handout`.

    python -m ui.handout --lang zh --url https://mla.example.org

A sheet a stop: number, the page's title, the sentence to say, the picture of the running app, the
link as text and as a QR code. A browser prints it, or saves it as PDF.
"""

import argparse
import base64
import html
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from first_paint import server  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path, settle  # noqa: E402 - found by the path
from ui.frame import share, tour  # noqa: E402
from ui.settings import address, state  # noqa: E402
from ui.settings.shared import LANGUAGES  # noqa: E402
from ui.words.text import catalogue  # noqa: E402

WINDOW = {"width": 1200, "height": 1080}  # large letters on paper, the main picture above the fold
BARE = """
  [data-testid=stSidebar], [data-testid=stExpandSidebarButton], .st-key-tour_bar,
  [data-testid=stElementContainer]:has(> .stHeading h1), hr,
  [data-testid=stLayoutWrapper]:has(.st-key-share),
  [data-testid=stLayoutWrapper]:has(.st-key-share) ~ * { display: none; }
  .stMainBlockContainer { padding: 0 1.5rem !important; }
"""
STYLE = """
  @page { size: A4; margin: 15mm; }
  * { box-sizing: border-box; }
  body { max-width: 178mm; margin: 0 auto; color: #000; background: #fff; line-height: 1.4;
         font: 11pt system-ui, "Noto Sans", "Noto Sans SC", "PingFang SC", sans-serif; }
  header, footer { display: flex; justify-content: space-between; align-items: end; gap: 8mm; }
  header p, footer p { margin: 0; overflow-wrap: anywhere; }
  footer { font-size: 9.5pt; }
  a { color: inherit; text-decoration: none; }
  section { break-before: page; padding-top: 2mm; }
  section:first-of-type { break-before: auto; }
  h1 { font-size: 20pt; margin: 0; }
  h2 { font-size: 15pt; line-height: 1.25; margin: 0 0 2mm; }
  .stop { font-weight: 600; margin: 4mm 0 1mm; }
  .say { font-size: 12.5pt; margin: 0 0 4mm; }
  .picture { display: block; width: 100%; border: 0.3mm solid #777; margin: 0 0 4mm; }
  .share-code { width: 26mm; flex: none; }
"""
WORDS = {
    "en": {
        "title": "MLA Explorer: the guided tour",
        "all": "{count} stops. Each link opens the page in the state of its picture:",
        "stop": "Stop {number} of {count}: {page}",
        "picture": "The page “{page}” at this stop",
        "code": "QR code of the link beside it",
    },
    "zh": {
        "title": "MLA Explorer：导览",
        "all": "共 {count} 站。每个链接都会打开与图片状态相同的页面：",
        "stop": "第 {number} 站，共 {count} 站：{page}",
        "picture": "本站的“{page}”页面",
        "code": "旁边链接的二维码",
    },
}


@dataclass(frozen=True)
class Sheet:
    """A stop as it stands on paper."""

    number: int
    page: str
    title: str
    say: str
    picture: bytes
    link: str


def sheets(browser: Browser, app: str, root: str, lang: str, count: int) -> Iterator[Sheet]:
    """Open the first `count` stops in the app at `app`; their links begin with `root`."""
    page = browser.new_page(viewport=WINDOW, color_scheme="light", device_scale_factor=1.5)
    for number, stop in enumerate(tour.stops()[:count], start=1):
        own = {name: state.as_text(value) for name, value in stop.own.items()}
        told = own | {"stop": str(number), "lang": lang}
        page.goto(address.link(app, stop.page, told))
        settle(page)
        page.add_style_tag(content=BARE)
        page.wait_for_timeout(1500)  # charts draw themselves after the script has ended
        if page.locator("[data-testid=stException]").count():
            sys.exit(f"stop {number} failed: see the app's log")
        title = page.locator("h1").text_content()
        link = address.link(root, stop.page, told)
        yield Sheet(number, stop.page, title, stop.say[lang], page.screenshot(), link)
    page.close()


def document(made: list[Sheet], root: str, lang: str) -> str:
    """The handout as HTML."""
    words = WORDS[lang]
    title, every = words["title"], words["all"].format(count=len(made))
    body = "".join(_section(sheet, lang) for sheet in made)
    return f"""<!DOCTYPE html>
<html lang="{lang}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
<header><div><h1>{title}</h1><p>{every} {_linked(root)}</p></div>
{share.code(root, words["code"])}</header>
{body}</html>
"""


def _section(sheet: Sheet, lang: str) -> str:
    words, page = WORDS[lang], catalogue()[f"{sheet.page}.link"][lang]
    stop = words["stop"].format(number=sheet.number, count=len(tour.stops()), page=page)
    shows = words["picture"].format(page=page)
    picture = f"data:image/png;base64,{base64.b64encode(sheet.picture).decode()}"
    return f"""<section>
<p class="stop">{stop}</p>
<h2>{html.escape(sheet.title)}</h2>
<p class="say">{html.escape(sheet.say)}</p>
<img class="picture" src="{picture}" alt="{shows}">
<footer><p>{_linked(sheet.link)}</p>{share.code(sheet.link, words["code"])}</footer>
</section>
"""


def _linked(link: str) -> str:
    return f'<a href="{html.escape(link)}">{html.escape(link)}</a>'


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    public = os.environ.get("PUBLIC_URL") or "http://localhost:8501"
    parser.add_argument("--url", default=public, help=f"what links begin with ({public})")
    parser.add_argument("--lang", choices=LANGUAGES, default="en")
    parser.add_argument("--stops", type=int, default=len(tour.stops()), help="no more than these")
    parser.add_argument("--app", help="a running app to take pictures of; none: one of its own")
    parser.add_argument("--out", type=Path, help="build/handout-LANG.html")
    given = parser.parse_args()
    try:
        given.url = address.checked(given.url or "nowhere")
    except ValueError:
        parser.error(f"--url '{given.url}': give one like https://mla.example.org")
    if given.stops < 1:
        parser.error(f"--stops {given.stops}: there are 1 to {len(tour.stops())}")
    return given


def main() -> None:
    """Take the pictures and write the file."""
    given = arguments()
    out = given.out or ROOT / "build" / f"handout-{given.lang}.html"
    running = nullcontext(given.app) if given.app else server(ROOT / "app.py")
    with running as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        made = []
        for sheet in sheets(browser, app, given.url, given.lang, given.stops):
            print(f"{sheet.number:2} {sheet.title}")
            made.append(sheet)
        browser.close()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(document(made, given.url, given.lang), "utf-8")
    print(out)


if __name__ == "__main__":
    main()
