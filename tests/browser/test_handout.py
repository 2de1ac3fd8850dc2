"""The printed story: one file that holds everything, made of the running app."""

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

from ui.frame.story import chapters

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
        "--app", app_url, "--chapters", "2", "--lang", "zh", "--url", HOME, "--out", str(out)
    )
    assert run.returncode == 0, run.stderr
    text = out.read_text("utf-8")
    made = Contents(text)
    assert not made.outside
    assert "break-before: page" in text
    told = chapters()[:2]
    assert made.texts["li"] == [step.say["zh"] for steps in told for _, step in steps]
    assert made.texts["h2"] == [
        f"第 {n} 章（共 {len(chapters())} 章）：{steps[0][1].title['zh']}"
        for n, steps in enumerate(told, start=1)
    ]
    first, second = made.texts["states"]
    assert "cup" in first
    assert "第 0 层第 1 头" in second

    home, *links = made.links
    assert home == HOME
    for link, steps in zip(links, told, strict=True):
        number, step = steps[-1]
        parts = urlsplit(link)
        path = "/" if step.page == "overview" else f"/{step.page}"
        assert link.startswith(HOME + path + "?")
        own = {name: [str(value)] for name, value in step.own.items()}
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
