"""The whole static copy, made by make site or here, opened at every address."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import cycle, islice
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.attacks.server import logged, own_ports, wait_until
from tests.browser.conftest import new_context
from tests.browser.waiting import settle
from ui import ROOT
from ui.settings.page import PAGES
from ui.site.__main__ import version
from ui.site.html import place
from ui.site.pack import RUNS, SUFFIX
from ui.site.protocol import LENGTH
from ui.site.store import parts_of
from ui.streamlit_internals import ForwardMsg

pytestmark = pytest.mark.browser
SITE = ROOT / "build/site"
OPENINGS = 10_000
IN_A_BROWSER = 20


@pytest.fixture(scope="module")
def index() -> dict:
    """The index of build/site, which is made where it is not of these files."""
    if not _is_current():
        subprocess.run([sys.executable, "-m", "ui.site"], cwd=ROOT, check=True)
    assert _is_current()
    return json.loads((SITE / "index.json").read_bytes())


def _is_current() -> bool:
    index = SITE / "index.json"
    return index.exists() and json.loads(index.read_bytes())["version"] == version(real_model=False)


@pytest.fixture(scope="module")
def served(index: dict) -> Iterator[str]:
    """The copy's address at a server of files alone."""
    (port,) = own_ports(1)
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    command += ["--directory", str(SITE)]
    with logged(command, folder=ROOT, address=f"http://127.0.0.1:{port}") as server:
        wait_until(lambda: server.answer("/"), "files are served")
        yield server.url


def path_of(address: str) -> str:
    page, query = parts_of(address)
    return f"/{place(page, 'en')}?{urlencode(query)}".rstrip("?")


def test_every_address_opens_ten_thousand_times_in_all(index, served):
    line = HTTPConnection(urlsplit(served).netloc)
    shared: set[str] = set()  # files that several views name: asked for once, as a browser does

    def fetched(path: str) -> bytes:
        line.request("GET", path)
        answer = line.getresponse()
        body = answer.read()
        assert answer.status == 200, path
        return body

    def pieces(name: str) -> bytes:
        return gzip.decompress(fetched(f"/{RUNS}/{name}.{SUFFIX}"))

    every = index["files"]
    assert len(every) > 800
    for address in islice(cycle(every), max(OPENINGS, len(every))):
        assert b"replay.js" in fetched(path_of(address))
        head, _, rest = pieces(every[address]).partition(b"\n")
        rows = json.loads(head)["messages"]
        shared.update(one for row in rows for one in row if isinstance(one, str))
        assert len(rest) == sum(one for row in rows for one in row if isinstance(one, int))
    bodies = {name: pieces(name) for name in shared}
    for address, name in every.items():
        messages = list(_messages(pieces(name), bodies))
        kinds = [one.WhichOneof("type") for one in messages]
        assert {"new_session", "delta", "script_finished"} <= {*kinds}, address
        assert not any(one.delta.new_element.HasField("exception") for one in messages), address


def _messages(body: bytes, shared: dict[str, bytes]) -> Iterator[ForwardMsg]:
    """Put a run's messages together, as the script does."""
    head, _, rest = body.partition(b"\n")
    for row in json.loads(head)["messages"]:
        made = b""
        for one in row:
            if one is None:
                made += b"0" * LENGTH
            elif isinstance(one, str):
                made += shared[one]
            else:
                made, rest = made + rest[:one], rest[one:]
        yield ForwardMsg.FromString(made)


def test_whatever_a_view_leads_to_is_there(index):
    every = index["files"]
    for lang in ("en", "zh"):
        assert {*index["story"][lang]} <= every.keys()
        assert {f"{page}?{'lang=zh' * (lang == 'zh')}" for page in PAGES} <= every.keys()
    assert {led for one in index["elsewhere"].values() for led in one.values()} <= every.keys()
    led = (way for one in index["choices"].values() for way in one.values())
    assert {way for way in led if isinstance(way, str)} <= every.keys()
    assert all((SITE / place(page, lang) / "index.html").exists()
               for page in PAGES for lang in ("en", "zh"))  # fmt: skip


def test_a_sample_opens_in_a_browser_without_an_error(index, served, chromium: Browser):
    context = new_context(chromium)
    page, wrong = context.new_page(), []
    page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("response", lambda got: wrong.append(got.url) if got.status >= 400 else None)
    every = sorted(index["files"])
    for address in every[:: len(every) // IN_A_BROWSER]:
        page.goto(f"{served}{path_of(address)}")
        settle(page)
        expect(page.locator("#still")).to_have_count(0)
        expect(page.locator("h1").first).to_be_visible()
        assert page.locator("#copy-says").count() == 0, address
        assert wrong == [], address
    context.close()
