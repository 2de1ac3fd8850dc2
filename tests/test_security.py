"""SECURITY.md lists every setting with its default, and is linked where readers begin."""

import re
from pathlib import Path

from ui import ROOT
from ui.settings.server import Server

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \|", re.MULTILINE)


def written(default: object) -> str:
    """Return a default as the table has it."""
    if default in ("", ()):
        return "none"
    if isinstance(default, tuple):
        paths = all(isinstance(one, Path) for one in default)
        return "`" + (":".join(map(written_path, default)) if paths else ",".join(default)) + "`"
    return f"`{default:g}`" if isinstance(default, int | float) else f"`{default}`"


def written_path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_table_names_every_variable_with_its_default():
    fields = Server.model_fields
    names = {key: field.validation_alias or f"MLA_{key.upper()}" for key, field in fields.items()}
    assert ROW.findall(PAGE) == [
        (names[key], written(field.default)) for key, field in fields.items()
    ]


def test_the_page_is_linked_where_readers_begin():
    first_screens = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:60])
    for text in (first_screens, (ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        assert "(SECURITY.md)" in text
