"""The handout's document, made of sheets without an app or a browser."""

import base64
import re
from html import unescape

import pytest

from ui.frame.tour import stops
from ui.handout.document import document
from ui.handout.sheets import Sheet
from ui.words.text import catalogue

ROOT = "https://mla.example.org"
SHEETS = [
    Sheet(n, stop.page, f"{n} < {n + 1}", "a & b", bytes([n]), f"{ROOT}/{stop.page}?stop={n}")
    for n, stop in enumerate(stops()[:2], start=1)
]


@pytest.mark.parametrize(
    ("lang", "place"),
    [("en", "Stop {n} of {count}: {page}"), ("zh", "第 {n} 站，共 {count} 站：{page}")],
)
def test_a_document_says_in_its_language_what_each_sheet_shows(lang: str, place: str) -> None:
    text = document(SHEETS, ROOT, lang)
    pages = [catalogue()[f"{sheet.page}.link"][lang] for sheet in SHEETS]
    assert re.findall(r'class="stop">(.*?)</p>', text) == [
        place.format(n=n, count=len(stops()), page=page) for n, page in enumerate(pages, start=1)
    ]
    alternatives = re.findall(r'class="picture" src="\S+" alt="(.*?)"', text)
    assert all(page in alt for page, alt in zip(pages, alternatives, strict=True))
    assert f'<html lang="{lang}">' in text


def test_a_document_holds_titles_as_they_are_pictures_and_links() -> None:
    text = document(SHEETS, ROOT, "en")
    assert [unescape(title) for title in re.findall("<h2>(.*?)</h2>", text)] == ["1 < 2", "2 < 3"]
    assert "1 < 2" not in text
    pictures = re.findall(r"data:image/png;base64,(.*?)\"", text)
    assert [base64.b64decode(picture) for picture in pictures] == [b"\x01", b"\x02"]
    assert re.findall('<a href="(.*?)">', text) == [ROOT, *(sheet.link for sheet in SHEETS)]
