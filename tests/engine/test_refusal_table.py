"""The table of refusals: every code that is raised has its sentence, in every language alike."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest

from kvcount.refusals import ORIGINAL, Phrase, RefusedError, of_package, sentence, table

ROOT = Path(__file__).parents[2]
COUNTER = sorted(path for path in (ROOT / "kvcount").rglob("*.py") if "tests" not in path.parts)
ENGINE = [*COUNTER, *sorted((ROOT / "mla_engine").rglob("*.py"))]
IN_TRITON = {ROOT / f"mla_engine/kernels/{name}.py" for name in ("decode", "launch")}
LANGUAGES = {language for rows in table().values() for row in rows.values() for language in row}
ROWS = {(section, code): row for section, rows in table().items() for code, row in rows.items()}


def named(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def subclasses(kind: type) -> list[type]:
    return [kind, *(deeper for one in kind.__subclasses__() for deeper in subclasses(one))]


OF_PAGES = "engine/device", "engine/queue", "sources/work", "classroom/store"
for file in (*{*ENGINE} - IN_TRITON, *(ROOT / "ui" / f"{name}.py" for name in OF_PAGES)):
    import_module(named(file))  # so that every subclass of RefusedError is known
REFUSALS = {kind.__name__: kind.section for kind in subclasses(RefusedError)}
MAKERS = REFUSALS | {"Phrase": Phrase.section, "linked": Phrase.section}
MAKERS |= {"failure_of": REFUSALS["CheckpointError"]}  # of a job of a worker


BARE = {kind.__name__ for kind in subclasses(ValueError)} - set(REFUSALS)


def called(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


def calls(file: Path) -> Iterator[ast.Call]:
    tree = ast.parse(file.read_text("utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def codes(node: ast.AST) -> set[str]:
    """Return what a written-out first argument may be: a string, or one or the other."""
    if isinstance(node, ast.IfExp):
        return codes(node.body) | codes(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) else set()


def made(file: Path) -> Iterator[tuple[str, set[str], str]]:
    """Every refusal and phrase that a file makes: section, codes, and the code as it is written."""
    for call in calls(file):
        if called(call.func) in MAKERS:
            yield MAKERS[called(call.func)], codes(call.args[0]), ast.unparse(call.args[0])


def test_no_refusal_is_raised_beside_the_table() -> None:
    beside = {
        f"{file.name}: {ast.unparse(call)}"
        for file in ENGINE
        for call in calls(file)
        if called(call.func) in BARE
    }
    assert not beside


def test_codes_are_written_out_where_a_refusal_is_made() -> None:
    unknown = {(file.name, text) for file in ENGINE for _, found, text in made(file) if not found}
    assert unknown == {("refusals.py", "code"), ("numbers.py", "error.code")}


def test_every_code_has_a_sentence_and_every_sentence_its_code() -> None:
    files = [*ENGINE, *sorted((ROOT / "ui").rglob("*.py"))]
    used = {(section, code) for file in files for section, found, _ in made(file) for code in found}
    assert used == set(ROWS)


def test_the_counter_has_the_sentences_that_it_says_and_no_others() -> None:
    used = {
        (section, code) for file in COUNTER for section, found, _ in made(file) for code in found
    }
    own = {(section, code) for section, rows in of_package("kvcount").items() for code in rows}
    assert used == own


def placeholders(text: str) -> set[tuple[str, str | None, str | None]]:
    return {part[1:] for part in Formatter().parse(text) if part[1] is not None}


@pytest.mark.parametrize("key", ROWS, ids=".".join)
def test_languages_say_the_same_values(key: tuple[str, str]) -> None:
    row = ROWS[key]
    assert set(row) == LANGUAGES
    assert all(row.values())
    for text in row.values():
        assert placeholders(text) == placeholders(row[ORIGINAL])


def test_a_language_without_a_sentence_falls_back_to_english() -> None:
    error = RefusedError("no_heads")
    assert sentence(error, "eo") == str(error) == ROWS["refused", "no_heads"][ORIGINAL]


def test_what_a_refusal_quotes_is_said_in_the_same_language() -> None:
    inner = RefusedError("no_heads")
    outer = RefusedError("memory", what=inner, lower=Phrase("fewer_heads"), needed=2.0, limit=1.0)
    for language in LANGUAGES:
        said = sentence(outer, language)
        assert ROWS["refused", "no_heads"][language] in said
        assert ROWS["phrase", "fewer_heads"][language] in said


def test_braces_in_a_value_are_left_alone() -> None:
    error = RefusedError("flag", name="{value}", value="{name}")
    assert all("'{name}'" in sentence(error, language) for language in LANGUAGES)


def test_another_error_keeps_its_words() -> None:
    assert sentence(OSError("no {such} file"), "zh") == "no {such} file"
