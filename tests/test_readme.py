"""The README's notebook snippet runs and prints what it promises."""

import re
from pathlib import Path

from ui.frame.pages import PAGES
from ui.words.text import catalogue

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_snippet_runs(capsys):
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    exec(code, {})
    first, second = capsys.readouterr().out.splitlines()
    assert float(re.search(r"tensor\((.*?)\)", first)[1]) < 1e-4
    held, computed = second.split()
    assert held == computed == str(12 * 576 * 4)


def test_the_two_commands_are_on_the_first_screen():
    first_screen = "\n".join(README.splitlines()[:30])
    assert "make run" in first_screen
    assert "make test" in first_screen


def test_the_comparison_is_dated_whole_and_names_pages_that_exist():
    section = re.search(r"## How it compares\n(.*?)\n## ", README, re.DOTALL)[1]
    assert "November 2026" in section
    head, _, *rows = re.findall(r"^\| ?(.*) \|$", section, re.MULTILINE)
    systems = re.findall(r"\[(.+?)\]", head)
    pages = {catalogue()[f"{page}.link"]["en"] for page in PAGES} | {
        "all pages",
        "every chart",
        "yes",
        "–",
    }
    for row in rows:
        _, ours, *theirs = row.split(" | ")
        assert len(theirs) == len(systems), row
        assert set(theirs) <= {"yes", "part", "–", "?"}, row
        assert set(ours.split(": ")[-1].split(", ")) <= pages, row
    for system in systems:
        assert f"\n[{system}]: https://" in section
