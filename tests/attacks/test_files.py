"""No downloaded file has a stranger's text as a formula, or as part of its name."""

import ast
import csv
import io
import re
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from tests.ui.conftest import noted_downloads, open_page
from tests.ui.screen import charts
from ui.parts import files
from ui.parts.files import inert

ROOT = Path(__file__).parents[2]
FORMULAS = (
    '=HYPERLINK("http://evil.example";"look")',
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1;1)",
    "＝1+1",
    "a;=1+1;b",
    "'=1+1",
    '"=1+1"',
)
NUMBERS = ("-0.25", "+1e-7", "12", "-3/100")
WORDS = ("cat", "'s", "a=b", "e-mail", "猫")
LINK = {"map_text": '=HYPERLINK("http://evil.example") +1+cmd|! @SUM(1) -2+3 ＝x \u202e=1'}
FORMULA = re.compile(r"(^|;)\s*[=+\-@＝＋－＠\t\r]")


def is_number(cell):
    return re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?|-inf", cell) is not None


def formulas(cells):
    """Return the cells that a spreadsheet would compute."""
    return [cell for cell in cells if FORMULA.search(cell) and not is_number(cell)]


def read(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_a_text_in_csv_and_is_still_recognised(text):
    (name, _), (cell, number) = read(files.csv(pd.DataFrame({text: [text], "n": [-1.5]})))
    assert name == cell
    assert not formulas([cell])
    assert cell.replace("'", "") == text.replace("'", "")
    assert len(cell) > len(text)
    assert float(number) == -1.5


@pytest.mark.parametrize("text", NUMBERS + WORDS)
def test_numbers_and_plain_words_stay(text):
    assert read(files.csv(pd.DataFrame({"word": [text]}))) == [["word"], [text]]
    assert inert(text) == text


@pytest.mark.parametrize("start", ["\t", "\r", "\n", "\r\n", "\x00"])
def test_a_control_character_begins_no_cell(start):
    ((_,), (cell,)) = read(files.csv(pd.DataFrame({"word": [f"{start}=1+1"]})))
    assert cell.startswith("<U+")


def test_a_workbook_holds_texts_and_numbers_and_no_formula():
    texts = [*FORMULAS, *WORDS, "#N/A", "\t=1", "\x07"]
    table = pd.DataFrame({"=1+1": texts, "n": [-1.5 * place for place in range(len(texts))]})
    book = openpyxl.load_workbook(io.BytesIO(files.xlsx(table, "mla")))
    (head, _), *rows = book.active.iter_rows()
    assert (head.value, head.data_type) == ("=1+1", "s")
    for text, (cell, number) in zip(texts, rows, strict=True):
        assert cell.data_type == "s"
        assert cell.value == text or cell.value.startswith("<U+")
        assert cell.quotePrefix == text.startswith(("=", "+", "-", "@", "＝", "'=", '"='))
        assert number.data_type == "n"


def handed_out(page, **link):
    """File name -> content, of every button of the page, and the page."""
    with pytest.MonkeyPatch.context() as patch:
        drawn = noted_downloads(patch)
        at = open_page(f"pages/{page}.py", **link)
        return {name: data() for name, data in drawn.items()}, at


@pytest.fixture(scope="module")
def maps():
    return handed_out("attention_maps", code="snippet", **LINK)


def test_no_file_of_the_maps_holds_a_formula_of_its_words(maps):
    tables = {name: content for name, content in maps[0].items() if name.endswith(".csv")}
    cells = {name: [cell for row in read(data) for cell in row] for name, data in tables.items()}
    assert any("HYPERLINK" in cell for cell in cells["large.csv"])
    assert {name: formulas(found) for name, found in cells.items() if formulas(found)} == {}


def test_names_of_files_are_of_fixed_parts(maps):
    contents, at = maps
    drawn = charts(at)
    names = [*contents, *(chart.file for chart in drawn)]
    assert len(drawn) > 2
    fixed = re.compile(r"\w+(\.(csv|py|ipynb|zip))?", re.A)
    assert [name for name in names if not fixed.fullmatch(name)] == []
    assert contents.keys() == handed_out("attention_maps", code="snippet", map_text="a")[0].keys()


def test_every_table_leaves_by_one_door():
    writers, buttons = set(), set()
    for path in [ROOT / "app.py", *ROOT.glob("pages/*.py"), *ROOT.glob("ui/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                place = path.relative_to(ROOT).as_posix()
                writers |= {place} if node.attr in {"to_csv", "to_excel"} else set()
                buttons |= {place} if node.attr == "download_button" else set()
    assert writers == buttons == {"ui/parts/files.py"}
