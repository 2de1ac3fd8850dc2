"""Makes a static copy of the app in build/site: `make site`."""

import argparse
import os
import time
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path

import streamlit
from playwright.sync_api import sync_playwright

from ui import ROOT
from ui.handout.browser import FLAGS, chromium_path, server
from ui.settings.page import PAGES
from ui.settings.server import web_address
from ui.settings.shared import LANGUAGES
from ui.site import record, site, stills
from ui.site.store import Store

# Of what is recorded.
SOURCES = "app.py", "pages", "ui", "kvcount", "mla_engine", "assets", ".streamlit"
SERVERS = 2  # a processor each


def arguments() -> argparse.Namespace:
    """Return the options that were given."""
    parser = argparse.ArgumentParser("python -m ui.site", description=__doc__)
    parser.add_argument("--url", default="", help="what the copy's links begin with")
    parser.add_argument("--app", default="", help="a live app, for what the copy does not have")
    parser.add_argument("--source", default="", help="where the project can be cloned from")
    parser.add_argument("--lang", choices=LANGUAGES, nargs="+", default=list(LANGUAGES))
    parser.add_argument("--pages", choices=PAGES, nargs="+", default=list(PAGES))
    parser.add_argument("--real-model", action="store_true", help="with the one of make real-model")
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--out", type=Path, default=ROOT / "build/site")
    given = parser.parse_args()
    for name in ("url", "app", "source"):
        try:
            setattr(given, name, web_address(getattr(given, name)))
        except ValueError:
            parser.error(
                f"--{name} '{getattr(given, name)}': give one like https://example.org/mla"
            )
    return given


def version(real_model: bool) -> str:
    """Return a name of all that decides what is recorded: the project's files, Streamlit."""
    made = sha256(f"{streamlit.__version__} {real_model}".encode())
    for name in SOURCES:
        place = ROOT / name
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and "__pycache__" not in file.parts:
                made.update(file.read_bytes())
    return made.hexdigest()[:12]


def main() -> None:
    """Record what is not recorded yet, and write the copy."""
    given, began = arguments(), time.monotonic()
    store = Store(ROOT / "build/recorded" / f"{version(given.real_model)}.db")
    count = len(store.addresses())

    def told(address: str) -> None:
        nonlocal count
        count += 1
        told = f"{count:5} views, {time.monotonic() - began:5.0f} s  {address:60.60}"
        print(f"\r{told}", end="", flush=True)

    ways = site.Ways(given.url, given.app, given.source)
    with ExitStack() as running:
        os.environ |= site.environment(given.url, real_model=given.real_model)
        apps = [running.enter_context(server(ROOT / "app.py")) for _ in range(given.servers)]
        record.record(apps, store.again, told, record.jobs(given.lang, given.pages))
        playwright = running.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        taken = partial(stills.take, browser, apps[0], given.lang, given.pages)
        made = site.write(store, given.out, taken, ways)
    seconds, size = time.monotonic() - began, made.n_bytes / 1e6
    print(f"\n{made.addresses} views, {made.files} files, {size:.1f} MB, {seconds:.0f} s")
    print(given.out)


if __name__ == "__main__":
    main()
