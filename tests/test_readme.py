"""The README's notebook snippet runs and prints what it promises."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_snippet_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    exec(code, {})
    first, second = capsys.readouterr().out.splitlines()
    assert float(re.search(r"tensor\((.*?)\)", first)[1]) < 1e-4
    held, computed = second.split()
    assert held == computed == str(12 * 576 * 4)


def test_the_two_commands_are_on_the_first_screen() -> None:
    first_screen = "\n".join(README.splitlines()[:30])
    assert "make run" in first_screen
    assert "make test" in first_screen
