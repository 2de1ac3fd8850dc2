"""The catalogue: both languages, the same placeholders, nothing missing, nothing left over."""

import re
from pathlib import Path
from string import Formatter

import pytest

from mla_engine import SYMBOLS
from ui.words.numbers import count, digits, size
from ui.words.text import catalogue, safe

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "app.py", *ROOT.glob("pages/*.py"), *ROOT.glob("ui/**/*.py")]


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("key", catalogue())
def test_both_languages_say_it_with_the_same_values(key: str) -> None:
    entry = catalogue()[key]
    assert set(entry) == {"en", "zh"}
    assert all(text.strip() for text in entry.values())
    assert placeholders(entry["en"]) == placeholders(entry["zh"])


def test_every_symbol_is_translated() -> None:
    assert {f"symbols.{code}" for code in SYMBOLS} <= set(catalogue())


def test_every_key_in_the_code_is_in_the_catalogue_and_the_other_way_round() -> None:
    code = "\n".join(path.read_text("utf-8") for path in SOURCES)
    used = set(re.findall(r'\bt\(\s*"([a-z_]+\.[A-Za-z_]+)"', code))
    assert used <= set(catalogue())
    pieces = re.findall(r'\bt\(\s*f"([^"]+)"', code)
    patterns = [re.sub(r"\\\{.*?\\\}", ".+", re.escape(piece)) for piece in pieces]
    named = set(re.findall(r'"([a-z_]+\.[A-Za-z_]+)"', code))
    for key in set(catalogue()) - used - named:
        assert any(re.fullmatch(pattern, key) for pattern in patterns), f"{key} is never shown"


def test_numbers_read_as_people_write_them() -> None:
    assert count(32768) == "32,768"
    assert digits(7.1111) == "7.11"
    assert digits(1234.5) == "1,234"
    assert size(1152) == "1.12 KiB"
    assert size(1152, binary=False) == "1.15 kB"


def test_readers_text_is_shown_as_typed() -> None:
    shown = safe("<b>*x* $y$ `z` :smile:")
    assert not set("<>*$`:") & set(shown.replace("&#", ""))
