"""Prints the story into one HTML file: `make handout`."""

import argparse
import os
import sys
from contextlib import nullcontext
from pathlib import Path

from playwright.sync_api import sync_playwright

from ui import ROOT
from ui.frame import story
from ui.handout.browser import FLAGS, chromium_path, server
from ui.handout.document import document
from ui.handout.sheets import FailedStepError, sheets
from ui.settings.server import web_address
from ui.settings.shared import LANGUAGES


def arguments() -> argparse.Namespace:
    """Return the options that were given."""
    parser = argparse.ArgumentParser("python -m ui.handout", description=__doc__)
    public = os.environ.get("PUBLIC_URL") or "http://localhost:8501"
    parser.add_argument("--url", default=public, help=f"what links begin with ({public})")
    parser.add_argument("--lang", choices=LANGUAGES, default="en")
    most = len(story.chapters())
    parser.add_argument("--chapters", type=int, default=most, help="no more than these")
    parser.add_argument("--app", help="a running app to take pictures of; none: one of its own")
    parser.add_argument("--out", type=Path, help="build/handout-LANG.html")
    given = parser.parse_args()
    try:
        given.url = web_address(given.url or "nowhere")
    except ValueError:
        parser.error(f"--url '{given.url}': give one like https://mla.example.org")
    if given.chapters < 1:
        parser.error(f"--chapters {given.chapters}: there are 1 to {most}")
    return given


def main() -> None:
    """Take the pictures and write the file."""
    given = arguments()
    out = given.out or ROOT / "build" / f"handout-{given.lang}.html"
    running = nullcontext(given.app) if given.app else server(ROOT / "app.py")
    with running as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        made = []
        try:
            for sheet in sheets(browser, app, given.url, given.lang, given.chapters):
                print(f"{sheet.chapter:2} {sheet.title}")
                made.append(sheet)
        except FailedStepError as error:
            sys.exit(str(error))
        browser.close()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(document(made, given.url, given.lang), "utf-8")
    print(out)


if __name__ == "__main__":
    main()
