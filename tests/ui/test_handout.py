"""The handout's document, made of sheets without an app or a browser."""

import base64
import re
from html import unescape

import pytest

from ui.frame.story import chapters
from ui.handout.document import document
from ui.handout.sheets import Sheet
from ui.words.text import catalogue

ROOT = "https://mla.example.org"
SHEETS = [
    Sheet(
        chapter=n,
        title=f"{n} < {n + 1}",
        page=steps[-1][1].page,
        statement=f"{n} > 0",
        say=("a & b", f"c{n}"),
        picture=bytes([n]),
        link=f"{ROOT}/{steps[-1][1].page}?stop={steps[-1][0]}",
    )
    for n, steps in enumerate(chapters()[:2], start=1)
]


@pytest.mark.parametrize(
    ("lang", "tag", "begins"),
    [("en", "en", "Chapter {n} of {count}: "), ("zh", "zh-CN", "第 {n} 章（共 {count} 章）：")],
)
def test_a_document_says_in_its_language_what_each_sheet_shows(lang, tag, begins):
    text = document(SHEETS, ROOT, lang)
    pages = [catalogue()[f"{sheet.page}.link"][lang] for sheet in SHEETS]
    assert [unescape(title) for title in re.findall("<h2>(.*?)</h2>", text)] == [
        begins.format(n=n, count=len(chapters())) + f"{n} < {n + 1}" for n in (1, 2)
    ]
    alternatives = re.findall(r'class="picture" src="\S+" alt="(.*?)"', text)
    assert all(page in alt for page, alt in zip(pages, alternatives, strict=True))
    assert f'<html lang="{tag}">' in text


def test_a_document_holds_words_as_they_are_pictures_and_links():
    text = document(SHEETS, ROOT, "en")
    assert "1 < 2" not in text
    said = [unescape(one) for one in re.findall("<li>(.*?)</li>", text)]
    assert said == ["a & b", "c1", "a & b", "c2"]
    states = [unescape(one) for one in re.findall('class="states">(.*?)</p>', text)]
    assert states == ["1 > 0", "2 > 0"]
    pictures = re.findall(r"data:image/png;base64,(.*?)\"", text)
    assert [base64.b64decode(picture) for picture in pictures] == [b"\x01", b"\x02"]
    assert re.findall('<a href="(.*?)">', text) == [ROOT, *(sheet.link for sheet in SHEETS)]
