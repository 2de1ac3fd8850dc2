"""The printed tour: one file that holds everything, made of the running app."""

import base64
import io
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import segno
from PIL import Image, ImageStat

from ui.frame.tour import stops

ROOT = Path(__file__).parents[2]
HOME = "https://mla.example.org/lecture"
pytestmark = pytest.mark.browser


class Contents(HTMLParser):
    """What stands in it: texts by tag and class, sources of pictures, targets of links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.pictures: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._within = given.get("class") or tag
        if tag == "a":
            self.links.append(given["href"])
        elif tag == "img":
            self.pictures.append(given["src"])
            assert given["alt"]
        elif given.keys() & {"src", "href"} or tag in {"script", "iframe", "link"}:
            self.outside.append(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.setdefault(self._within, []).append(data.strip())


def handout(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ui.handout", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_handout_holds_sentences_pictures_links_and_codes(app_url: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "handout.html"
    run = handout(
        "--app", app_url, "--stops", "2", "--lang", "zh", "--url", HOME, "--out", str(out)
    )
    assert run.returncode == 0, run.stderr
    text = out.read_text("utf-8")
    made = Contents(text)
    assert not made.outside
    assert "break-before: page" in text
    assert made.texts["say"] == [stop.say["zh"] for stop in stops()[:2]]
    assert made.texts["stop"] == ["第 1 站，共 15 站：概览", "第 2 站，共 15 站：KV 缓存"]
    first, second = made.texts["h2"]
    assert "128 个头的 MHA 每个词元每层缓存 32,768 个数" in first
    assert "131,072" in second

    home, *links = made.links
    assert home == HOME
    for number, (link, stop) in enumerate(zip(links, stops(), strict=False), start=1):
        parts = urlsplit(link)
        path = "/" if stop.page == "overview" else f"/{stop.page}"
        assert link.startswith(HOME + path + "?")
        own = {name: [str(value)] for name, value in stop.own.items()}
        assert parse_qs(parts.query) == own | {"stop": [str(number)], "lang": ["zh"]}
    codes = [unquote(p.split(",", 1)[1]) for p in made.pictures if p.startswith("data:image/svg")]
    drawn = [segno.make_qr(link, error="l").svg_inline(border=4) for link in made.links]
    paths = [svg.split(' d="')[-1].split('"')[0] for svg in drawn]
    assert [code.split(" d='")[-1].split("'")[0] for code in codes] == paths

    shots = [p for p in made.pictures if p.startswith("data:image/png;base64,")]
    for shot in shots:
        picture = Image.open(io.BytesIO(base64.b64decode(shot.split(",", 1)[1]))).convert("L")
        assert picture.size == (1800, 1620)
        shades = ImageStat.Stat(picture)
        assert shades.mean[0] > 200  # light
        assert shades.stddev[0] > 10  # and not empty
    assert len(set(shots)) == len(links) == 2


def test_a_handout_refuses_what_is_no_address() -> None:
    run = handout("--url", "mla.example.org")
    assert run.returncode == 2
    assert "--url 'mla.example.org': give one like https://mla.example.org" in run.stderr
