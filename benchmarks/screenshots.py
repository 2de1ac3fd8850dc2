"""Takes the README's pictures, one a page, of a server of its own: `make screenshots`.

With `--all` also phone width, dark and Chinese, into a folder to look through.
"""

import argparse
import itertools
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.frame.pages import PAGES  # noqa: E402 - found by the path
from ui.handout.browser import FLAGS, PATIENCE_MILLISECONDS, chromium_path, server, settle  # noqa: E402
from ui.settings.page import HOME  # noqa: E402

README_SIZE = (1920, 1080)
EVERY = itertools.product(((1920, 1080), (390, 844)), ("light", "dark"), ("en", "zh"))


def take(page: Page, address: str, file: Path, *, whole: bool = False) -> None:
    """One picture, of the whole page if asked."""
    page.goto(address)
    settle(page)
    if whole:
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": page.viewport_size["width"], "height": min(height, 6000)})
        settle(page)
    page.screenshot(path=file)
    if not whole:  # for the README, in 256 colours that keep the rare ones: a third as large
        options = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 1, "dither": Image.Dither.NONE}
        with Image.open(file) as picture:
            picture.convert("RGB").quantize(**options).save(file, optimize=True)
    print(file)


def addresses(lang: str) -> dict[str, str]:
    """Return the address of every page, below the app's own, where its picture is taken."""
    return {name: f"/{'' if name == HOME else name}?lang={lang}" for name in PAGES}


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every size, theme, language")
    folder = parser.parse_args().all
    with server(ROOT / "app.py") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        views = EVERY if folder else [(README_SIZE, "light", "en")]
        for (width, height), scheme, lang in views:
            size = {"width": width, "height": height}
            options = {"color_scheme": scheme, "reduced_motion": "reduce"}  # no opening midway
            page = browser.new_page(viewport=size, **options)
            page.set_default_timeout(PATIENCE_MILLISECONDS)
            for name, address in addresses(lang).items():
                picture = f"{name}-{width}-{scheme}-{lang}.png" if folder else f"{name}.png"
                where = folder or ROOT / "assets" / "screenshots"
                where.mkdir(parents=True, exist_ok=True)
                page.set_viewport_size(size)
                take(page, f"{url}{address}", where / picture, whole=bool(folder))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
