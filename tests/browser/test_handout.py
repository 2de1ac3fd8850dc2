"""The printed story: one file that holds everything, made of the running app."""

import base64
import io
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image, ImageStat

from ui.frame.story import chapters

ROOT = Path(__file__).parents[2]
HOME = "https://mla.example.org/lecture"
pytestmark = pytest.mark.browser


def handout(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ui.handout", *options]
    without = os.environ | {"MLA_MODEL_FOLDERS": "build/no-models"}  # as the app of the tests
    return subprocess.run(
        command, cwd=ROOT, env=without, capture_output=True, text=True, check=False
    )


def test_a_handout_holds_sentences_pictures_links_and_codes(app_url, tmp_path):
    out = tmp_path / "new" / "handout.html"
    run = handout(
        "--app", app_url, "--chapters", "2", "--lang", "zh", "--url", HOME, "--out", str(out)
    )
    assert run.returncode == 0, run.stderr
    text = out.read_text("utf-8")
    assert not re.search(r"<script|<iframe|<link", text)
    assert all(source.startswith("data:image/") for source in re.findall(r'src="(.*?)"', text))
    told = chapters()[:2]
    said = [unescape(one) for one in re.findall("<li>(.*?)</li>", text)]
    assert said == [step.say["zh"] for steps in told for _, step in steps]
    first, second = re.findall('class="states">(.*?)</p>', text)
    assert "cup" in first
    assert "第 0 层第 1 头" in second
    home, *links = [unescape(one) for one in re.findall('<a href="(.*?)">', text)]
    assert home == HOME
    assert text.count("data:image/svg") == 1 + len(links)  # a code for each
    for link, steps in zip(links, told, strict=True):
        number, step = steps[-1]
        assert link.startswith(f"{HOME}/{step.page}?".replace("/overview?", "/?"))
        own = {name: [str(value)] for name, value in step.own.items()}
        query = parse_qs(urlsplit(link).query)
        assert query == own | {"stop": [str(number)], "lang": ["zh"]}

    shots = re.findall(r'data:image/png;base64,(.*?)"', text)
    for shot in shots:
        picture = Image.open(io.BytesIO(base64.b64decode(shot))).convert("L")
        assert picture.size == (1800, 1620)
        shades = ImageStat.Stat(picture)
        assert shades.mean[0] > 200  # light
        assert shades.stddev[0] > 10  # and not empty
    assert len(set(shots)) == len(links) == 2


def test_a_handout_refuses_what_is_no_address():
    run = handout("--url", "mla.example.org")
    assert run.returncode == 2
    assert "--url 'mla.example.org': give one like https://mla.example.org" in run.stderr
