"""The house rules that a linter does not know."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "app.py", *sorted(ROOT.glob("pages/*.py"))]


def imported(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return modules


def test_imports_go_one_way() -> None:
    for path in ROOT.glob("mla_engine/**/*.py"):
        names = imported(path)
        assert not any(n.split(".")[0] in {"streamlit", "ui", "pages"} for n in names), path
        if "figures" in path.parts:
            assert "torch" not in names, path
        else:
            assert not any(n.split(".")[0] == "plotly" for n in names), path
    for path in ROOT.glob("ui/*.py"):
        assert not any(n.split(".")[0] in {"pages", "app", "plotly"} for n in imported(path)), path


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_a_page_is_a_short_storyboard(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 90
    assert not {n.split(".")[0] for n in imported(path)} & {"torch", "plotly", "numpy"}
    arithmetic = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.BinOp)]
    assert not arithmetic, f"line {arithmetic[0].lineno} calculates"


def test_every_page_has_an_entry_in_the_navigation() -> None:
    from ui.frame.rooms import PAGES as NAVIGATION

    assert {ROOT / page.file for page in NAVIGATION.values()} == set(PAGES)
